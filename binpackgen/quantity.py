"""Kubernetes resource quantities, exact: what `1.5Gi`, `500m` and `12e6` amount to and how they are written.

Grammar, rounding and canonical form are those of k8s.io/apimachinery, pkg/api/resource (quantity.go,
suffix.go, amount.go, scale_int.go) in version 0.37; tests/conformance/quantity holds its own answers. A
quantity is a whole number of billionths ("nanos") and a notation; nothing is ever a float.

Where upstream breaks its own documentation, the documentation is followed here:

- An amount past the last suffix keeps it: `1000E` stays `1000E`. Upstream prints `1`.
- `value` and `milli_value` are exact however large they are. Upstream's wrap around or become 0 past 2^63-1.
- Negative amounts round away from zero too. Upstream rounds some, as -1.1Gi, towards zero, and for others, as
  -1.025Ti, answers with a number that has nothing to do with them.
- The canonical form never depends on the spelling: `+5Mi` is `5Mi`, `1.234` is `1234m`. Upstream repeats some
  spellings as they came.
- Amounts of 10^100 and more, exponents beyond 256 and texts of more than 256 characters are refused. Upstream
  takes them, wraps some exponents, and can spend gigabytes on others.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class Notation(StrEnum):
    """The family of suffixes in which a quantity is written. Upstream: `Format` in quantity.go."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """A text that Kubernetes would not take as a quantity.

    The message is one lower-case fact with a hint. `text` is what was read; `suggestions` are quantities that
    were probably meant, likeliest first, each of them valid.
    """

    def __init__(self, message: str, text: str = "", suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.text = text
        self.suggestions = suggestions


_NANO = 10**9
_MAX_INT64 = 2**63 - 1
_LONGEST_TEXT = 256
_LARGEST_EXPONENT = 256
_TOO_MANY_NANOS = 10**100 * _NANO

_DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

#: Suffix to notation and nanos in one of it.
_UNITS = {
    **{suffix: (Notation.DECIMAL_SI, 1000**power) for power, suffix in enumerate(_DECIMAL_SUFFIXES)},
    **{
        suffix: (Notation.BINARY_SI, 1024**power * _NANO)
        for power, suffix in enumerate(_BINARY_SUFFIXES)
        if suffix
    },
}

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([numkKMGTPEi]{0,2}))")

#: Minus signs and the two Greek letters of micro.
_SIGNS = {"\u2212": "-", "\u2013": "-", "\u00b5": "u", "\u03bc": "u"}

#: Words that are no suffix, in lower case, and the suffix they stand for.
_WORDS = {
    **dict.fromkeys(
        ["b", "byte", "bytes", "core", "cores", "cpu", "cpus", "vcpu", "vcpus", "gpu", "gpus"], ""
    ),
    **dict.fromkeys(
        ["mcore", "mcores", "mcpu", "mcpus", "millicore", "millicores", "millicpu", "millicpus"], "m"
    ),
}

#: What JSON decoding trims: the white space that stands in a JSON string as it is, not as an escape.
_TRIMMED = (
    " \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)


class Quantity:
    """An amount of a resource, as in `Quantity("6Gi")`: immutable, exact to a billionth.

    What is counted is up to the resource: cores for cpu, bytes for memory, pieces for devices. Two quantities
    are equal, and hash alike, if they are the same amount, whatever their notations. `str` gives the canonical
    form, which parses back to an equal quantity of the same canonical form.

    Raises QuantityError if Kubernetes' ParseQuantity refuses the text. Like ParseQuantity it takes more than
    its grammar says: a missing number counts as 0, so `Gi` is 0.
    Upstream: `Quantity` and `ParseQuantity` in k8s.io/apimachinery/pkg/api/resource/quantity.go.
    """

    __slots__ = ("_nanos", "_notation", "_text")

    _notation: Notation
    _nanos: int
    _text: str | None

    def __new__(cls, text: str) -> Quantity:  # noqa: PYI034  readings of the same text are shared
        return _read(text)

    @classmethod
    def of_units(cls, number: int, notation: Notation = Notation.DECIMAL_SI) -> Quantity:
        """`number` whole units (cores, bytes, devices), written in `notation`. Upstream: `NewQuantity`."""
        return _make(_whole(number) * _NANO, notation)

    @classmethod
    def of_bytes(cls, number: int) -> Quantity:
        """`number` bytes, written with the largest binary suffix that divides it: 1610612736 is `1536Mi`."""
        return _make(_whole(number) * _NANO, Notation.BINARY_SI)

    @classmethod
    def of_milli(cls, number: int) -> Quantity:
        """`number` thousandths of a unit, such as millicores: 1500 is `1500m`. Upstream: `NewMilliQuantity`."""
        return _make(_whole(number) * 10**6, Notation.DECIMAL_SI)

    @classmethod
    def from_manifest(cls, value: str | float) -> Quantity:
        """A quantity as a manifest holds it: a text, trimmed as JSON decoding trims it, or a bare number.

        Raises QuantityError as `Quantity` does. Upstream: `Quantity.UnmarshalJSON`.
        """
        return _read(str(value).strip(_TRIMMED))

    @property
    def notation(self) -> Notation:
        """The family of suffixes that `str` uses where the amount allows it."""
        return self._notation

    @property
    def nanos(self) -> int:
        """The exact amount in billionths of a unit."""
        return self._nanos

    @property
    def sign(self) -> int:
        """-1, 0 or 1. Upstream: `Quantity.Sign`."""
        return (self._nanos > 0) - (self._nanos < 0)

    @property
    def is_whole(self) -> bool:
        """Whether the amount is a whole number of units, as devices and bytes have to be."""
        return self._nanos % _NANO == 0

    def value(self) -> int:
        """The amount in whole units, a fraction rounded away from zero. Upstream: `Quantity.Value`."""
        return _divided_away_from_zero(self._nanos, _NANO)

    def milli_value(self) -> int:
        """The amount in thousandths, rounded away from zero. Upstream: `Quantity.MilliValue`."""
        return _divided_away_from_zero(self._nanos, 10**6)

    def in_notation(self, notation: Notation) -> Quantity:
        """The same amount, written in `notation`: `131072` in BINARY_SI is `128Ki`."""
        return _make(self._nanos, notation)

    def scaled(self, numerator: int, denominator: int, step: Quantity | None = None) -> Quantity:
        """`numerator`/`denominator` of the amount, rounded down to a multiple of `step`, by default one unit.

        75 % of 10 cores is `scaled(75, 100)`, 7 cores, or `scaled(75, 100, Quantity("1m"))`, 7500m. Down means
        towards minus infinity. Nothing is lost before the rounding. The notation is kept.
        Raises ValueError unless `denominator` and `step` are positive.
        """
        grain = _NANO if step is None else step._nanos
        if denominator <= 0 or grain <= 0:
            raise ValueError(f"a positive denominator and step are wanted, not {denominator} and {step}")
        return _make(self._nanos * _whole(numerator) // (_whole(denominator) * grain) * grain, self._notation)

    def rounded_up(self, step: Quantity) -> Quantity:
        """The smallest multiple of `step` that is not less: `1.1Gi` to `1Mi` is `1127Mi`. The notation is kept.

        Raises ValueError unless `step` is positive.
        """
        if step._nanos <= 0:
            raise ValueError(f"a positive step is wanted, not {step}")
        return _make(-(-self._nanos // step._nanos) * step._nanos, self._notation)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, exact, in this notation, or in the other's if this is zero. Upstream: `Quantity.Add`."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return _make(self._nanos + other._nanos, self._notation if self._nanos else other._notation)

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference, exact, in this notation, or in the other's if this is zero. Upstream: `Quantity.Sub`."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return _make(self._nanos - other._nanos, self._notation if self._nanos else other._notation)

    def __mul__(self, factor: int) -> Quantity:
        """`factor` times the amount, exact, in the same notation. Upstream: `Quantity.Mul`."""
        if not isinstance(factor, int):
            return NotImplemented
        return _make(self._nanos * factor, self._notation)

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return _make(-self._nanos, self._notation)

    def __bool__(self) -> bool:
        return self._nanos != 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nanos == other._nanos

    def __lt__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nanos < other._nanos

    def __le__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nanos <= other._nanos

    def __gt__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nanos > other._nanos

    def __ge__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._nanos >= other._nanos

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __str__(self) -> str:
        """The canonical form: no fraction, the largest suffix that divides. Upstream: `CanonicalizeBytes`."""
        text = self._text
        if text is None:
            text = _canonical(self._nanos, self._notation)
            object.__setattr__(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"Quantity('{self}')"

    def __reduce__(self) -> tuple[object, tuple[int, Notation]]:
        return _make, (self._nanos, self._notation)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a quantity does not change: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a quantity does not change: {name} cannot be deleted")


def _make(nanos: int, notation: Notation) -> Quantity:
    quantity = object.__new__(Quantity)
    object.__setattr__(quantity, "_nanos", nanos)
    object.__setattr__(quantity, "_notation", notation)
    object.__setattr__(quantity, "_text", None)
    return quantity


def _whole(number: int) -> int:
    if not isinstance(number, int):
        raise TypeError(f"a whole number is wanted, not {number!r}")
    return number


def _divided_away_from_zero(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor) if dividend >= 0 else dividend // divisor


@lru_cache(maxsize=4096)
def _read(text: str) -> Quantity:
    parsed = _parse(text)
    if parsed is None:
        raise _refusal(text)
    return _make(*parsed)


def _parse(text: str) -> tuple[int, Notation] | None:
    """Nanos and notation of `text`, or None if it is refused."""
    if not text or len(text) > _LONGEST_TEXT:
        return None
    match = _SHAPE.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, exponent, suffix = match.groups()
    fraction = fraction or ""
    divisor: int = 10 ** len(fraction)
    if exponent is None:
        unit = _UNITS.get(suffix)
        if unit is None:
            return None
        notation, factor = unit
    else:
        power = int(exponent)
        if abs(power) > _LARGEST_EXPONENT:
            return None
        notation, factor = Notation.DECIMAL_EXPONENT, 10 ** max(power + 9, 0)
        divisor *= 10 ** max(-power - 9, 0)
    if not whole and not fraction and (divisor > 1 or suffix in ("Pi", "Ei")):
        return None  # upstream takes a missing number for 0 in its fast path only, and this is past it
    # even the smallest part of a billionth counts as one
    nanos = -(-int(whole + fraction or "0") * factor // divisor)
    if notation is Notation.BINARY_SI:
        nanos = min(nanos, _MAX_INT64 * _NANO)
        if 0 < nanos < _NANO:
            notation = Notation.DECIMAL_SI
    if nanos >= _TOO_MANY_NANOS:
        return None
    return (-nanos if sign == "-" else nanos), notation


def _canonical(nanos: int, notation: Notation) -> str:
    if nanos == 0:
        return "0"
    size = abs(nanos)
    # past int64 a binary text would be capped when it is read again
    if notation is Notation.BINARY_SI and 1024 * _NANO <= size <= _MAX_INT64 * _NANO and nanos % _NANO == 0:
        number, power = nanos // _NANO, 0
        while number % 1024 == 0:
            number, power = number // 1024, power + 1
        return f"{number}{_BINARY_SUFFIXES[power]}"
    number, power = nanos, 0
    if notation is Notation.DECIMAL_EXPONENT:
        while number % 1000 == 0:
            number, power = number // 1000, power + 1
        return f"{number}e{3 * power - 9}" if power != 3 else f"{number}"
    while number % 1000 == 0 and power < len(_DECIMAL_SUFFIXES) - 1:
        number, power = number // 1000, power + 1
    return f"{number}{_DECIMAL_SUFFIXES[power]}"


def _refusal(text: str) -> QuantityError:
    """Why `text` is no quantity, and what was probably meant."""
    if not text:
        return QuantityError("an empty text is no quantity: a number is wanted, such as 6Gi or 500m", text)
    if len(text) > _LONGEST_TEXT:
        shown = _shown(text[:16])[:-1] + '..."'
        return QuantityError(
            f"{shown} is no quantity: it has {len(text)} characters, up to {_LONGEST_TEXT} are read",
            text,
        )
    meant = _suggestions(text)
    if meant:
        hint = f"did you mean {' or '.join(meant)}?"
    elif not any("0" <= char <= "9" for char in text):
        hint = "it has no number, such as 6Gi or 500m have"
    elif re.fullmatch(r"[+-]?[0-9.]+[eE][+-]?", text):
        hint = "an exponent needs digits, as in 1e3"
    elif re.fullmatch(r"[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+|[kMGTPE]?)", text):
        hint = f"amounts below 1e100 and exponents from -{_LARGEST_EXPONENT} to {_LARGEST_EXPONENT} are read"
    else:
        hint = "a number with at most one of n u m k M G T P E Ki Mi Gi Ti Pi Ei is wanted"
    return QuantityError(f"{_shown(text)} is no quantity: {hint}", text, meant)


def _shown(text: str) -> str:
    """`text` in double quotes, with escapes for what a terminal would not show or would obey."""
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text) + '"'


def _suggestions(text: str) -> tuple[str, ...]:
    """The valid quantities that a person who wrote `text` may have meant, likeliest first."""
    meant: list[str] = []
    for plain in _respellings(text):
        match = re.fullmatch(
            r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]\+?([0-9]{1,2})(?=.))?(.*)", plain, re.DOTALL
        )
        if match is None:
            continue
        number, exponent, unit = match.groups()
        if exponent is not None:
            number = _shifted(number, int(exponent))
        meant += [number + suffix for suffix in _meant_suffixes(unit)]
    return tuple(dict.fromkeys(guess for guess in meant if guess != text and _parse(guess) is not None))


def _respellings(text: str) -> list[str]:
    """`text` with ASCII digits and signs, no white space and no separators of thousands, comma as a point."""
    plain = "".join(str(int(char)) if char.isdecimal() else _SIGNS.get(char, char) for char in text).strip()
    plain = re.sub(r"(?<=[0-9])_(?=[0-9])", "", plain)
    plain = re.sub(r"(?<=[0-9])[\s'\u2019](?=[0-9]{3}(?![0-9]))", "", plain)
    plain = re.sub(r"^([+-])\s+|\s+(?=[^\W\d])", r"\1", plain)
    prefixed = re.fullmatch(r"([+-]?)(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)", plain)
    if prefixed:
        return [prefixed[1] + str(int(prefixed[2], 0))]
    if "," not in plain:
        return [plain]
    grouped = re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(?![0-9]).*", plain, re.DOTALL)
    thousands = [plain.replace(",", "")] if grouped else []
    point = [plain.replace(",", ".")] if plain.count(",") == 1 and "." not in plain else []
    return thousands + point


def _meant_suffixes(unit: str) -> list[str]:
    """The suffixes that `unit` may stand for: Gi for GiB, Gi or G for GB."""
    if unit in _UNITS:
        return [unit]
    name = unit.lower()
    sized = re.fullmatch(r"([kmgtpe])(i?)(?:b|bytes?)?", name)
    if sized and name != "e":
        letter = sized[1].upper()
        return [letter + "i"] if sized[2] else [letter + "i", "k" if letter == "K" else letter]
    return [_WORDS[name]] if name in _WORDS else []


def _shifted(number: str, places: int) -> str:
    """`number` with its decimal point `places` further right."""
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(places, "0")
    rest = fraction[places:]
    return whole + fraction[:places] + ("." + rest if rest else "")
