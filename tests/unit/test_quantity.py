"""Quantities against apimachinery's own answers, against exact fractions, and as people write them."""

from __future__ import annotations

import copy
import json
import pickle
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from binpackgen.quantity import Notation, Quantity, QuantityError

INT64 = range(-(2**63), 2**63)

#: What k8s.io/apimachinery answers for each text; the program beside the file says how it was made.
VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "conformance" / "quantity" / "vectors.json").read_text(encoding="utf-8")
)
BY_TEXT = {vector["text"]: vector for vector in VECTORS}


def is_bounded(vector: dict[str, Any]) -> bool:
    """Whether the text is inside the bounds that the module sets itself: length, exponent, amount."""
    exponent = re.search(r"[eE]([+-]?[0-9]+)$", vector["text"])
    return (
        len(vector["text"]) <= 256
        and (exponent is None or abs(int(exponent[1])) <= 256)
        and ("error" in vector or ("nanos" in vector and abs(int(vector["nanos"])) < 10**109))
    )


BOUNDED = [vector for vector in VECTORS if is_bounded(vector)]
TAKEN = [vector for vector in BOUNDED if "error" not in vector]
REFUSED = [vector for vector in BOUNDED if "error" in vector]
UNBOUNDED = [vector for vector in VECTORS if not is_bounded(vector)]

#: Decimal amounts that end in so many zeros that upstream finds no suffix and drops the power of ten.
PAST_THE_LAST_SUFFIX = {
    "1000E",
    "10000E",
    "1000000E",
    "1000000000000000000000",
    "1234000000000000000000000",
    "1" + 99 * "0",
    "1" + 81 * "0" + "E",
}


def is_taken(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def refusal(text: str) -> QuantityError:
    with pytest.raises(QuantityError) as caught:
        Quantity(text)
    return caught.value


def fraction(quantity: Quantity) -> Fraction:
    return Fraction(quantity.nanos, 10**9)


def away_from_zero(number: Fraction) -> int:
    return ceil(number) if number >= 0 else floor(number)


class TestUpstreamVectors:
    def test_there_are_enough_of_both_kinds(self) -> None:
        """Many valid and many invalid texts are compared, no text twice."""
        assert len(BY_TEXT) == len(VECTORS)
        assert len(TAKEN) >= 1200
        assert len(REFUSED) >= 500

    def test_the_same_texts_are_taken(self) -> None:
        """A text is a quantity exactly if ParseQuantity says so."""
        expected = {vector["text"]: "error" not in vector for vector in BOUNDED}
        actual = {text: is_taken(Quantity, text) for text in expected}
        assert expected == actual

    def test_what_is_beyond_the_bounds_is_refused(self) -> None:
        """Texts that are too long, exponents and amounts that are too large end in an error, not in a hang."""
        assert len(UNBOUNDED) >= 30
        assert {vector["text"] for vector in UNBOUNDED if is_taken(Quantity, vector["text"])} == set()

    def test_amounts_are_exact(self) -> None:
        """The amount is upstream's to the last billionth, roundings and caps included."""
        expected = {vector["text"]: int(vector["nanos"]) for vector in TAKEN}
        actual = {text: Quantity(text).nanos for text in expected}
        assert expected == actual

    def test_canonical_forms(self) -> None:
        """The canonical form is upstream's, character by character."""
        expected = {
            vector["text"]: vector["canonical"]
            for vector in TAKEN
            if vector["text"] not in PAST_THE_LAST_SUFFIX
        }
        actual = {text: str(Quantity(text)) for text in expected}
        assert expected == actual

    def test_amounts_past_the_last_suffix_are_not_lost(self) -> None:
        """Where upstream's canonical form is another amount, ours is the amount that was written."""
        lossy = {v["text"] for v in TAKEN if BY_TEXT[v["canonical"]].get("nanos") != v["nanos"]}
        assert lossy == PAST_THE_LAST_SUFFIX
        assert {text: Quantity(str(Quantity(text))) for text in lossy} == {
            text: Quantity(text) for text in lossy
        }

    def test_upstream_keeps_our_canonical_forms(self) -> None:
        """What we write is what a server stores: no canonical form is respelled, so nothing stays out of sync."""
        written = {str(Quantity(v["text"])) for v in TAKEN if v["text"] not in PAST_THE_LAST_SUFFIX}
        assert len(written) > 600
        assert {text: BY_TEXT[text]["string"] for text in written} == {text: text for text in written}

    @pytest.mark.parametrize(
        ("field", "ours"),
        [("value", Quantity.value), ("milli", Quantity.milli_value)],
        ids=["value", "milli"],
    )
    def test_rounded_values(self, field: str, ours: Callable[[Quantity], int]) -> None:
        """Whole units and thousandths are upstream's for every amount from zero up that fits its 64 bits."""
        comparable = [v for v in TAKEN if v["sign"] >= 0 and ours(Quantity(v["text"])) in INT64]
        assert len(comparable) > 800
        expected = {vector["text"]: int(vector[field]) for vector in comparable}
        actual = {text: ours(Quantity(text)) for text in expected}
        assert expected == actual

    @pytest.mark.parametrize(
        ("scale", "ours"), [(1, Quantity.value), (1000, Quantity.milli_value)], ids=["value", "milli"]
    )
    def test_rounding_is_away_from_zero(self, scale: int, ours: Callable[[Quantity], int]) -> None:
        """Every amount, negative and past 64 bits too, rounds as upstream's documentation says."""
        expected = {
            vector["text"]: away_from_zero(Fraction(int(vector["nanos"]), 10**9) * scale) for vector in TAKEN
        }
        actual = {text: ours(Quantity(text)) for text in expected}
        assert expected == actual

    def test_small_negative_values(self) -> None:
        """Negative amounts in upstream's integer form round as upstream rounds them."""
        expected = {
            text: int(BY_TEXT[text]["value"]) for text in ["-1", "-1k", "-1.5", "-500m", "-1025", "-1.0001"]
        }
        assert {text: Quantity(text).value() for text in expected} == expected

    def test_notations(self) -> None:
        """The family of suffixes is remembered as upstream remembers it."""
        expected = {vector["text"]: vector["format"] for vector in TAKEN}
        actual = {text: str(Quantity(text).notation) for text in expected}
        assert expected == actual

    def test_signs(self) -> None:
        """The sign is upstream's; there is no negative zero."""
        expected = {vector["text"]: vector["sign"] for vector in TAKEN}
        actual = {text: Quantity(text).sign for text in expected}
        assert expected == actual

    def test_manifests_are_trimmed_like_json(self) -> None:
        """White space around a quantity in a manifest is taken or refused as JSON decoding does."""

        def canonical(text: str) -> str | None:
            try:
                return str(Quantity.from_manifest(text))
            except QuantityError:
                return None

        expected = {
            vector["text"]: vector.get("manifest") or vector.get("canonical")
            for vector in BOUNDED
            if vector["text"] not in PAST_THE_LAST_SUFFIX
        }
        actual = {text: canonical(text) for text in expected}
        assert expected == actual

    @pytest.mark.parametrize(
        ("text", "wrong"),
        [
            pytest.param("1K", lambda text: Quantity(text.replace("K", "k")), id="upper-case kilo"),
            pytest.param("512ki", lambda text: Quantity(text.replace("ki", "Ki")), id="lower-case kibi"),
            pytest.param("6GiB", lambda text: Quantity(text.removesuffix("B")), id="bytes"),
            pytest.param("1_0", lambda text: Quantity(re.sub(r"(?<=\d)_(?=\d)", "", text)), id="underscores"),
            pytest.param(
                "0x10", lambda text: Quantity(str(int(text, 0)) if "x" in text else text), id="hexadecimal"
            ),
            pytest.param("1,5Gi", lambda text: Quantity(text.replace(",", ".")), id="decimal comma"),
            pytest.param("1Gi ", lambda text: Quantity(text.strip()), id="white space"),
            pytest.param("1Gi\n", lambda text: Quantity(text.removesuffix("\n")), id="$ before a line end"),
            pytest.param(
                "\u0661\u0662Mi", lambda text: Quantity(ascii_digits(text)), id="any script's digits"
            ),
            pytest.param(
                "1\u212ai",
                lambda text: Quantity(unicodedata.normalize("NFKC", text)),
                id="compatible letters",
            ),
            pytest.param("1Z", lambda text: Quantity(re.sub("[ZY]", "E", text)), id="zetta and yotta"),
            pytest.param(
                "1e3k", lambda text: Quantity(re.sub("e3[kKm]", "k", text)), id="exponent and suffix"
            ),
            pytest.param("1e", lambda text: Quantity(text.removesuffix("e")), id="exponent without digits"),
            pytest.param("1e3.5", lambda text: Quantity(text.replace("3.5", "3")), id="fractional exponent"),
            pytest.param("1E", lambda text: unless(text.endswith("E"), text), id="no exa"),
            pytest.param("1e3", lambda text: unless("e" in text, text), id="no exponents"),
            pytest.param("1.Gi", lambda text: unless("." in text, text), id="no fractions"),
            pytest.param(".5Gi", lambda text: unless(text.startswith("."), text), id="a digit first"),
            pytest.param(
                "1n", lambda text: unless(text.endswith(("n", "u")), text), id="nothing below milli"
            ),
            pytest.param(
                "Gi", lambda text: unless(not re.search("[0-9]", text), text), id="a digit somewhere"
            ),
        ],
    )
    def test_wrong_parsers_are_told_apart(self, text: str, wrong: Callable[[str], Quantity]) -> None:
        """The vectors hold a text on which a plausible wrong parser errs, so they would catch it here."""
        caught = {v["text"] for v in BOUNDED if is_taken(wrong, v["text"]) != ("error" not in v)}
        assert text in caught

    @pytest.mark.parametrize(
        ("text", "wrong"),
        [
            pytest.param("0.1n", lambda nanos: floor(nanos), id="rounds down"),
            pytest.param("0.1n", lambda nanos: round(nanos), id="rounds to the nearest"),
            pytest.param("9Ei", lambda nanos: ceil(nanos), id="no cap"),
            pytest.param("12E", lambda nanos: min(ceil(nanos), (2**63 - 1) * 10**9), id="cap for all"),
            pytest.param("0.9999999E", lambda nanos: ceil(float(nanos / 10**9) * 10**9), id="floats"),
        ],
    )
    def test_wrong_roundings_are_told_apart(self, text: str, wrong: Callable[[Fraction], int]) -> None:
        """The vectors hold a text on which a plausible wrong rounding errs, so they would catch it here."""
        simple = re.compile(r"([0-9]*\.?[0-9]+)([numkMGTPE]|[KMGTPE]i|)")
        matches = [(vector, simple.fullmatch(vector["text"])) for vector in TAKEN]
        caught = {
            vector["text"]
            for vector, match in matches
            if match and wrong(Fraction(match[1]) * Quantity("1" + match[2]).nanos) != int(vector["nanos"])
        }
        assert text in caught


def ascii_digits(text: str) -> str:
    return "".join(str(int(char)) if char.isdecimal() else char for char in text)


def unless(refused: bool, text: str) -> Quantity:
    if refused:
        raise ValueError(text)
    return Quantity(text)


class TestAsPeopleWriteThem:
    @pytest.mark.parametrize(
        ("text", "value", "canonical"),
        [
            ("1k", 1000, "1k"),
            ("1e3", 1000, "1e3"),
            ("1E3", 1000, "1e3"),
            ("129e6", 129_000_000, "129e6"),
            ("1E", 10**18, "1E"),
            ("1Ei", 2**60, "1Ei"),
            ("128974848", 128_974_848, "128974848"),
            ("0.5Gi", 2**29, "512Mi"),
            (".5Gi", 2**29, "512Mi"),
            ("1.", 1, "1"),
            ("+5Mi", 5 * 2**20, "5Mi"),
            ("1n", 1, "1n"),
            ("-1Gi", -(2**30), "-1Gi"),
            ("1024Mi", 2**30, "1Gi"),
            ("1000m", 1, "1"),
            ("1500m", 2, "1500m"),
            ("12000m", 12, "12"),
        ],
    )
    def test_memory_that_kubernetes_takes(self, text: str, value: int, canonical: str) -> None:
        """Fractions, exponents, exa and signs count for what the API server counts them."""
        quantity = Quantity(text)
        assert (quantity.value(), str(quantity)) == (value, canonical)

    def test_space_is_trimmed_in_manifests_only(self) -> None:
        """A trailing space is fine in a manifest, where JSON decoding trims it, and an error elsewhere."""
        assert Quantity.from_manifest("1Gi ") == Quantity("1Gi")
        assert refusal("1Gi ").suggestions == ("1Gi",)

    @pytest.mark.parametrize(("number", "canonical"), [(3, "3"), (1.5, "1500m"), (1e3, "1k"), (1e30, "1e30")])
    def test_bare_numbers_in_manifests(self, number: float, canonical: str) -> None:
        """A number that YAML has already read is taken by its shortest digits."""
        assert str(Quantity.from_manifest(number)) == canonical

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), True])
    def test_no_numbers_in_manifests(self, number: float) -> None:
        """What YAML read as no finite number, or as a boolean, is no quantity."""
        with pytest.raises(QuantityError):
            Quantity.from_manifest(number)

    @pytest.mark.parametrize(
        ("text", "canonical", "value", "in_mebibytes"),
        [
            ("1.1Gi", "1181116006400m", 1_181_116_007, "1127Mi"),
            ("1.6Gi", "1717986918400m", 1_717_986_919, "1639Mi"),
        ],
    )
    def test_fractions_of_bytes(self, text: str, canonical: str, value: int, in_mebibytes: str) -> None:
        """A fraction of a byte turns to milli-bytes, is not whole, and rounds up to whole mebibytes."""
        quantity = Quantity(text)
        assert (str(quantity), quantity.value(), quantity.is_whole) == (canonical, value, False)
        assert str(quantity.rounded_up(Quantity("1Mi"))) == in_mebibytes

    def test_clean_fractions(self) -> None:
        """1.5Gi is a whole number of bytes and of mebibytes."""
        assert (str(Quantity("1.5Gi")), Quantity("1.5Gi").is_whole) == ("1536Mi", True)

    def test_milli_for_mega_and_no_unit(self) -> None:
        """3500m is four bytes when rounded up, 512 is 512 bytes: both far below 4Mi."""
        assert [Quantity(text).value() for text in ("3500m", "512")] == [4, 512]
        assert max(Quantity("3500m"), Quantity("512")) < Quantity("4Mi")

    @pytest.mark.parametrize(
        ("text", "devices"),
        [
            ("0.5", None),
            ("500m", None),
            ("1500m", None),
            ("0.9999999", None),
            ("1n", None),
            ("1000m", 1),
            ("1.0", 1),
            ("3000m", 3),
            ("3Ki", 3072),
            ("1e1", 10),
            ("-1", -1),
            ("0", 0),
        ],
    )
    def test_device_counts(self, text: str, devices: int | None) -> None:
        """Devices are whole numbers in any notation; halves and the last billionth short of one are not."""
        quantity = Quantity(text)
        assert (quantity.value() if quantity.is_whole else None) == devices


class TestHints:
    @pytest.mark.parametrize(
        ("text", "suggestions"),
        [
            ("6GiB", ("6Gi",)),
            ("2GB", ("2Gi", "2G")),
            ("100Mb", ("100Mi", "100M")),
            ("1 Gi", ("1Gi",)),
            ("1Gi ", ("1Gi",)),
            ("1Gi\n", ("1Gi",)),
            ("1K", ("1Ki", "1k")),
            ("1KI", ("1Ki",)),
            ("1e6Mi", ("1000000Mi",)),
            ("1.5e3Ki", ("1500Ki",)),
            ("1.2345e3Ki", ("1234.5Ki",)),
            ("1_000", ("1000",)),
            ("1 000", ("1000",)),
            ("1'000", ("1000",)),
            ("1,000", ("1000", "1.000")),
            ("1,000,000", ("1000000",)),
            ("1,5Gi", ("1.5Gi",)),
            ("0x10", ("16",)),
            ("-0b11", ("-3",)),
            ("4 cores", ("4",)),
            ("500mcpu", ("500m",)),
            ("8 GPUs", ("8",)),
            ("100 bytes", ("100",)),
            ("512mi", ("512Mi",)),
            ("2t", ("2Ti", "2T")),
            ("1EB", ("1Ei", "1E")),
            ("5\u00b5", ("5u",)),
            ("\u22121Gi", ("-1Gi",)),
            ("- 1", ("-1",)),
            ("\uff11Gi", ("1Gi",)),
            ("\u0661\u0662Mi", ("12Mi",)),
            ("-1.5GiB", ("-1.5Gi",)),
            ("aoeu", ()),
            ("1.2.3", ()),
            ("1e", ()),
            ("1e1000", ()),
            ("50%", ()),
        ],
    )
    def test_suggestions(self, text: str, suggestions: tuple[str, ...]) -> None:
        """A near miss names the quantities that were probably meant, in the message and for a fix."""
        error = refusal(text)
        assert (error.text, error.suggestions) == (text, suggestions)
        assert [suggestion for suggestion in suggestions if suggestion not in str(error)] == []

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("6GiB", '"6GiB" is no quantity: did you mean 6Gi?'),
            ("2GB", '"2GB" is no quantity: did you mean 2Gi or 2G?'),
            ("1Gi\t", '"1Gi\\t" is no quantity: did you mean 1Gi?'),
            ("", "an empty text is no quantity: a number is wanted, such as 6Gi or 500m"),
            ("lots", '"lots" is no quantity: it has no number, such as 6Gi or 500m have'),
            ("Pi", '"Pi" is no quantity: it has no number, such as 6Gi or 500m have'),
            ("0e", '"0e" is no quantity: an exponent needs digits, as in 1e3'),
            ("1e+", '"1e+" is no quantity: an exponent needs digits, as in 1e3'),
            ("1e999", '"1e999" is no quantity: amounts below 1e100 and exponents from -256 to 256 are read'),
            (
                "\x1b[2J1",
                '"\\x1b[2J1" is no quantity: a number with at most one of n u m k M G T P E Ki Mi Gi Ti Pi Ei is wanted',
            ),
            (
                256 * "9",
                f'"{256 * "9"}" is no quantity: amounts below 1e100 and exponents from -256 to 256 are read',
            ),
            (300 * "9", '"9999999999999999..." is no quantity: it has 300 characters, up to 256 are read'),
        ],
    )
    def test_messages(self, text: str, message: str) -> None:
        """The message is one fact with a hint, and shows no control characters."""
        assert str(refusal(text)) == message

    def test_every_suggestion_for_a_vector_is_taken(self) -> None:
        """No text that upstream refuses is answered with a suggestion that upstream refuses as well."""
        suggested = [hint for vector in REFUSED for hint in refusal(vector["text"]).suggestions]
        assert len(suggested) > 100
        assert [
            text for text in suggested if "error" in BY_TEXT.get(text, {}) or not is_taken(Quantity, text)
        ] == []

    @given(st.text(max_size=300) | st.text("0123456789.,+-_ eEinumkKMGTPgbBx", max_size=12))
    @settings(deadline=None)
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        """No text raises anything but QuantityError, with a message on one line."""
        if is_taken(Quantity, text):
            assert Quantity(str(Quantity(text))) == Quantity(text)
        else:
            assert refusal(text).args[0].isprintable()

    def test_the_error_survives_pickling(self) -> None:
        """An error from a worker process keeps its suggestions."""
        error = pickle.loads(pickle.dumps(refusal("6GiB")))  # noqa: S301  our own bytes
        assert (str(error), error.text, error.suggestions) == (str(refusal("6GiB")), "6GiB", ("6Gi",))


numbers = st.from_regex(r"\A[+-]?([0-9]{1,22}(\.[0-9]{0,13})?|\.[0-9]{1,13})\Z")
suffixes = st.sampled_from(["", *"numkMGTPE", *(letter + "i" for letter in "KMGTPE")])
exponents = st.builds("{}{}".format, st.sampled_from(["e", "E", "e+"]), st.integers(0, 20)) | st.builds(
    "e-{}".format, st.integers(0, 20)
)
texts = st.builds("{}{}".format, numbers, suffixes | exponents)
quantities = st.builds(Quantity, texts) | st.builds(
    Quantity.of_units, st.integers(-(2**70), 2**70), st.sampled_from(Notation)
)
steps = st.sampled_from(["1", "1m", "1n", "1Mi", "7", "250m"]).map(Quantity)


class TestProperties:
    @given(quantities)
    @settings(deadline=None)
    def test_canonical_forms_read_back(self, quantity: Quantity) -> None:
        """The canonical form is the same amount, and its own canonical form.

        Without a suffix it reads as a decimal one, whatever it was: 2000 in the binary notation is 2k then.
        """
        again = Quantity(str(quantity))
        assert (again, str(again.in_notation(quantity.notation))) == (quantity, str(quantity))

    def test_a_binary_amount_without_a_suffix_reads_as_a_decimal_one(self) -> None:
        """As upstream's does."""
        assert "2000" == str(Quantity.of_units(2000, Notation.BINARY_SI))
        assert "2k" == str(Quantity("2000"))

    @given(quantities)
    @settings(deadline=None)
    def test_canonical_forms_have_no_fraction_and_the_largest_suffix(self, quantity: Quantity) -> None:
        """No point, no plus, no leading zero; three zeros before a suffix only where no larger suffix exists."""
        text = str(quantity)
        match = re.fullmatch(r"0|-?[1-9][0-9]*([numkMGTP]|E|[KMGTPE]i|e-?[1-9][0-9]*|)", text)
        assert match
        assert not text.removesuffix(match[1] or "").endswith("000") or match[1] == "E" or "i" in text

    @given(texts)
    @settings(deadline=None)
    def test_amounts_are_those_of_exact_fractions(self, text: str) -> None:
        """The amount is the exact one, rounded up to a billionth; binary amounts are capped at 2^63-1."""
        match = re.fullmatch(r"([+-]?)([0-9.]+)(?:[eE]([+-]?[0-9]+)|([a-zA-Z]*))", text)
        assert match
        units = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
        amount = Fraction(match[2] + ("0" if match[2].endswith(".") else ""))
        if match[3] is not None:
            amount *= Fraction(10) ** int(match[3])
        elif match[4].endswith("i"):
            amount *= 1024 ** (1 + "KMGTPE".index(match[4][0]))
        else:
            amount *= Fraction(10) ** units[match[4]]
        expected = Fraction(ceil(amount * 10**9), 10**9)
        if (match[4] or "").endswith("i"):
            expected = min(expected, Fraction(2**63 - 1))
        assert fraction(Quantity(text)) == (-expected if match[1] == "-" else expected)

    @given(quantities, quantities)
    @settings(deadline=None)
    def test_order_is_that_of_exact_fractions(self, left: Quantity, right: Quantity) -> None:
        """All six comparisons agree with exact fractions, whatever the notations."""
        a, b = fraction(left), fraction(right)
        expected = (a == b, a != b, a < b, a <= b, a > b, a >= b)
        actual = (left == right, left != right, left < right, left <= right, left > right, left >= right)
        assert expected == actual

    @given(quantities, quantities, st.integers(-(10**6), 10**6))
    @settings(deadline=None)
    def test_arithmetic_is_exact(self, left: Quantity, right: Quantity, factor: int) -> None:
        """Sums, differences, multiples and negatives lose nothing."""
        a, b = fraction(left), fraction(right)
        expected = (a + b, a - b, a * factor, factor * a, -a)
        actual = (left + right, left - right, left * factor, factor * left, -left)
        assert expected == tuple(fraction(result) for result in actual)

    @given(quantities, st.integers(-(10**6), 10**6), st.integers(1, 10**6), steps)
    @settings(deadline=None)
    def test_scaling_rounds_once_and_down(
        self, quantity: Quantity, numerator: int, denominator: int, step: Quantity
    ) -> None:
        """A share is the largest multiple of the step that is no larger than the exact share."""
        exact = fraction(quantity) * numerator / denominator
        actual = quantity.scaled(numerator, denominator, step)
        assert fraction(actual) == floor(exact / fraction(step)) * fraction(step)

    @given(quantities, steps)
    @settings(deadline=None)
    def test_rounding_up(self, quantity: Quantity, step: Quantity) -> None:
        """Rounding up gives the smallest multiple of the step that is no smaller."""
        assert fraction(quantity.rounded_up(step)) == ceil(fraction(quantity) / fraction(step)) * fraction(
            step
        )

    @given(quantities, st.sampled_from(Notation))
    @settings(deadline=None)
    def test_equal_amounts_hash_alike(self, quantity: Quantity, notation: Notation) -> None:
        """The notation is no part of the identity of an amount."""
        other = quantity.in_notation(notation)
        assert (other, hash(other), other.notation) == (quantity, hash(quantity), notation)

    @given(quantities)
    @settings(deadline=None)
    def test_whole_is_whole(self, quantity: Quantity) -> None:
        """An amount is whole exactly if it is its own rounded value."""
        assert quantity.is_whole == (fraction(quantity) == quantity.value())

    @given(st.integers(-(2**62), 2**62))
    @settings(deadline=None)
    def test_constructors(self, number: int) -> None:
        """Bytes, thousandths and units come back as the numbers they were made of."""
        actual = (
            Quantity.of_bytes(number).value(),
            Quantity.of_milli(number).milli_value(),
            Quantity.of_units(number).value(),
        )
        assert actual == (number, number, number)

    @given(st.integers(1, 2**63 - 1), st.integers(0, 5))
    @settings(deadline=None)
    def test_bytes_have_the_largest_exact_binary_suffix(self, number: int, power: int) -> None:
        """From 1024 on a number of bytes is written in the largest binary unit that divides it."""
        number *= 1024**power
        assume(1024 <= number < 2**63)
        suffix = max(power for power in range(7) if number % 1024**power == 0)
        assert (
            str(Quantity.of_bytes(number))
            == f"{number // 1024**suffix}{['', *'KMGTPE'][suffix]}{'i'[:suffix]}"
        )


class TestValueType:
    @pytest.mark.parametrize(
        ("quantity", "canonical"),
        [
            (Quantity.of_bytes(1_610_612_736), "1536Mi"),
            (Quantity.of_bytes(2**40), "1Ti"),
            (Quantity.of_bytes(500_000), "500000"),
            (Quantity.of_bytes(1000), "1k"),
            (Quantity.of_bytes(0), "0"),
            (Quantity.of_milli(1500), "1500m"),
            (Quantity.of_milli(2000), "2"),
            (Quantity.of_units(12_000), "12k"),
            (Quantity.of_units(2**80, Notation.BINARY_SI), "1208925819614629174706176"),
            (Quantity("131072").in_notation(Notation.BINARY_SI), "128Ki"),
            (Quantity("10").scaled(75, 100), "7"),
            (Quantity("10").scaled(75, 100, Quantity("1m")), "7500m"),
            (Quantity("100Gi").scaled(1, 2), "50Gi"),
            (Quantity("100Gi").scaled(1, 3, Quantity("1Mi")), "34133Mi"),
            (Quantity("1500m") + Quantity("500m"), "2"),
            (Quantity("1Gi") + Quantity("1M"), "1074741824"),
            (Quantity("1G") + Quantity("1Gi"), "2073741824"),
            (Quantity("0") + Quantity("1Gi"), "1Gi"),
            (Quantity("0") - Quantity("1Gi"), "-1Gi"),
            (Quantity("1Gi") - Quantity("0"), "1Gi"),
            (2 * Quantity("64Gi") * 4, "512Gi"),
            (sum([Quantity("1Gi")] * 3, Quantity("0")), "3Gi"),
        ],
    )
    def test_results_are_written_as_upstream_writes_them(self, quantity: Quantity, canonical: str) -> None:
        """Results keep the notation of what they were made of; a zero takes the other's."""
        assert str(quantity) == canonical

    def test_it_does_not_change(self) -> None:
        """Attributes can neither be set nor deleted nor added."""
        quantity = Quantity("1Gi")
        for name in ("_nanos", "nanos", "other"):
            with pytest.raises(AttributeError, match="does not change"):
                setattr(quantity, name, 1)
        with pytest.raises(AttributeError, match="does not change"):
            del quantity._nanos
        assert quantity == Quantity("1Gi")

    def test_copies_and_pickles_are_equal(self) -> None:
        """Copies, deep copies and pickles keep amount and notation."""
        quantity = Quantity("1.5Gi")
        pickled = pickle.loads(pickle.dumps(quantity))  # noqa: S301  our own bytes
        for twin in (copy.copy(quantity), copy.deepcopy(quantity), pickled):
            assert (twin, twin.notation, str(twin)) == (quantity, quantity.notation, "1536Mi")

    def test_it_is_a_dictionary_key_by_amount(self) -> None:
        """1Gi and 1024Mi are one key."""
        assert {Quantity("1Gi"): "a", Quantity("1024Mi"): "b", Quantity("1G"): "c"} == {
            Quantity("1Gi"): "b",
            Quantity("1000M"): "c",
        }

    def test_zero_is_false(self) -> None:
        """Nothing of a resource is false, the least bit is true."""
        assert [bool(Quantity(text)) for text in ("0", "0Gi", "1n", "-1")] == [False, False, True, True]

    def test_it_shows_its_canonical_form(self) -> None:
        """The representation is an expression for an equal quantity."""
        assert repr(Quantity("1024Mi")) == "Quantity('1Gi')"

    def test_it_mixes_with_nothing_else(self) -> None:
        """A bare number is no quantity: comparing and adding one is a type error, equality is false."""
        quantity: Any = Quantity("1")
        assert (quantity == 1, quantity != "1") == (False, True)
        mixtures: list[Callable[[], object]] = [
            lambda: quantity < 1,
            lambda: quantity <= 1,
            lambda: quantity > 1,
            lambda: quantity >= 1,
            lambda: quantity + 1,
            lambda: quantity - 1,
            lambda: quantity * 1.5,
            lambda: quantity * quantity,
        ]
        for mixed in mixtures:
            with pytest.raises(TypeError):
                mixed()

    @pytest.mark.parametrize("make", [Quantity, Quantity.of_bytes, Quantity.of_milli, Quantity.of_units])
    def test_floats_are_type_errors(self, make: Callable[[Any], Quantity]) -> None:
        """No constructor takes a float, so none of its inexactness comes in."""
        with pytest.raises(TypeError):
            make(1.5)

    @pytest.mark.parametrize(("denominator", "step"), [(0, "1"), (-1, "1"), (1, "0"), (1, "-1")])
    def test_scaling_needs_positive_measures(self, denominator: int, step: str) -> None:
        """A share of nothing, or in steps of nothing, is a value error."""
        with pytest.raises(ValueError, match="positive"):
            Quantity("1").scaled(1, denominator, Quantity(step))

    @pytest.mark.parametrize("step", ["0", "-1"])
    def test_rounding_needs_a_positive_step(self, step: str) -> None:
        """Rounding to multiples of nothing is a value error."""
        with pytest.raises(ValueError, match="positive"):
            Quantity("1").rounded_up(Quantity(step))

    def test_readings_are_shared(self) -> None:
        """The same text is read once, so a profile of thousands of pools costs little."""
        assert Quantity("17Gi") is Quantity("17Gi")

    def test_importing_it_is_light(self) -> None:
        """The module brings in none of the modules that would make --help slow."""
        heavy = ["dataclasses", "decimal", "fractions", "inspect", "numbers", "pydantic", "typing"]
        program = f"import sys, binpackgen.quantity; print([m for m in {heavy} if m in sys.modules])"
        run = subprocess.run(
            [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True
        )
        assert run.stdout == "[]\n"
