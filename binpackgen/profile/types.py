"""The scalar types of the profile language: each accepts one spelling and says what it wanted."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
)
from pydantic_core import PydanticCustomError

from ..quantity import Quantity, QuantityError
from .node import DecimalText

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_LABEL_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
_PERCENT = re.compile(r"(\d{1,3})%\Z")
_MINOR = re.compile(r"1\.([1-9]\d?)(?:\.\d+)?\Z")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class ShownAs:
    """The JSON Schema of a type whose validator pydantic cannot look into.

    pydantic.WithJsonSchema does the same, but imports the schema generator into every run.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def __get_pydantic_json_schema__(self, _core_schema: Any, _handler: Any) -> dict[str, Any]:
        return dict(self.schema)


def _fail(kind: str, message: str) -> PydanticCustomError:
    # braces are pydantic's template syntax; the user's text must never be read as one
    return PydanticCustomError(kind, "{text}", {"text": message})


def _text(value: Any) -> str:
    """Text as it stands; a bare decimal number must be quoted."""
    if isinstance(value, DecimalText):
        raise _fail("wrong_type", f'{value} is a number here and text is wanted: quote it, "{value}"')
    if not isinstance(value, str):
        raise _fail("wrong_type", f"text is wanted, this is {kind_of(value)}")
    return value


def kind_of(value: Any) -> str:
    """What a value is, in a person's words."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"a boolean ({'true' if value else 'false'})"
    if isinstance(value, int):
        return f"the number {value}"
    if isinstance(value, DecimalText):
        return f"the number {value}"
    if isinstance(value, str):
        return f'the text "{value[:60]}"'
    return "a list" if isinstance(value, list | tuple) else "a mapping"


Text = Annotated[str, BeforeValidator(_text)]


def _dns_label(value: str) -> str:
    if not _DNS_LABEL.match(value):
        raise _fail(
            "name",
            f'"{value}" is no DNS label: at most 63 of a-z, 0-9 and "-", starting and ending with a letter or digit',
        )
    return value


def _dns_subdomain(value: str) -> str:
    if len(value) > 253 or not _DNS_SUBDOMAIN.match(value):
        raise _fail(
            "name",
            f'"{value}" is no DNS subdomain: at most 253 of a-z, 0-9, "-" and ".", each part starting and ending with a letter or digit',
        )
    return value


def label_value_problem(value: str) -> str | None:
    """Why `value` is no label value, or None. Source: apimachinery pkg/util/validation, IsValidLabelValue."""
    if len(value.encode()) > 63:
        return f'"{value}" has {len(value.encode())} bytes; a label value has at most 63'
    if value and not _LABEL_PART.match(value):
        return f'"{value}" is no label value: letters, digits, "-", "_" and ".", starting and ending with a letter or digit'
    return None


def label_key_problem(value: str) -> str | None:
    """Why `value` is no label or taint key, or None. Source: apimachinery IsQualifiedName."""
    prefix, slash, name = value.rpartition("/")
    if slash and (len(prefix) > 253 or not _DNS_SUBDOMAIN.match(prefix)):
        return f'the prefix of "{value}" is no DNS subdomain'
    if len(name) > 63 or not _LABEL_PART.match(name):
        return f'"{value}" is no label key: [prefix/]name, the name at most 63 of letters, digits, "-", "_" and "."'
    return None


def _label_value(value: str) -> str:
    problem = label_value_problem(value)
    if problem:
        raise _fail("label", problem)
    return value


def _label_key(value: str) -> str:
    problem = label_key_problem(value)
    if problem:
        raise _fail("label", problem)
    return value


def _env_name(value: str) -> str:
    if not _ENV_NAME.match(value):
        raise _fail(
            "name", f'"{value}" is no environment variable name: letters, digits and "_", no digit first'
        )
    return value


def _printable(value: str) -> str:
    for position, char in enumerate(value):
        if ord(char) < 32 and char not in "\n\t":
            raise _fail("text", f"character {position + 1} is the control character U+{ord(char):04X}")
    return value


DnsLabel = Annotated[Text, AfterValidator(_dns_label)]
DnsSubdomain = Annotated[Text, AfterValidator(_dns_subdomain)]
LabelValue = Annotated[Text, AfterValidator(_label_value)]
LabelKey = Annotated[Text, AfterValidator(_label_key)]
EnvName = Annotated[Text, AfterValidator(_env_name)]
FreeText = Annotated[Text, AfterValidator(_printable)]


def _image(value: str) -> str:
    if not value or value != value.strip() or any(c.isspace() for c in value):
        raise _fail("image", f'"{value}" is no image reference: it is empty or has white space')
    return value


Image = Annotated[FreeText, AfterValidator(_image)]


def parse_quantity(value: Any) -> Quantity:
    """A Kubernetes quantity; a bare number is taken by its digits, never as a float."""
    if isinstance(value, Quantity):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _fail("wrong_type", f"a quantity such as 64 or 256Gi is wanted, this is {kind_of(value)}")
    try:
        quantity = Quantity(str(value))
    except QuantityError as error:
        raise _fail("quantity", str(error)) from None
    if not any(char.isdigit() for char in str(value)):  # Kubernetes reads "Gi" as 0
        raise _fail("quantity", f'"{value}" has a unit but no number')
    if quantity < Quantity("0"):
        raise _fail("quantity", f"{value} is negative")
    return quantity


def _cpu(value: Any) -> Quantity:
    quantity = parse_quantity(value)
    if quantity > Quantity("100k"):
        raise _fail("quantity", f"{value} cores are more than any node or queue has; cpu counts in cores")
    return quantity


def _memory(value: Any) -> Quantity:
    quantity = parse_quantity(value)
    if Quantity("0") < quantity < Quantity("4Mi"):
        hint = (
            "m is milli-bytes: was M or Mi meant?"
            if str(value).endswith("m")
            else f"a unit is missing: was {value}Gi or {value}Mi meant?"
        )
        raise _fail("quantity", f"{value} is {quantity.value()} bytes of memory; {hint}")
    if not quantity.is_whole:
        rounded = quantity.rounded_up(Quantity("1Mi"))
        raise _fail("quantity", f"{value} is no whole number of bytes; write {rounded.value() // 2**20}Mi")
    if quantity > Quantity("1Ei"):
        raise _fail("quantity", f"{value} is more memory than any node or queue has")
    return quantity


_QUANTITY_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "number"}, {"type": "string"}]}
QUOTA_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"^(100|[1-9]?[0-9])%$"},
        {"type": "integer", "minimum": 0},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                name: {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}
                for name in ("cpu", "memory", "gpu")
            },
        },
    ]
}
Cpu = Annotated[Quantity, PlainValidator(_cpu), PlainSerializer(str, str), ShownAs(_QUANTITY_SCHEMA)]
Memory = Annotated[Quantity, PlainValidator(_memory), PlainSerializer(str, str), ShownAs(_QUANTITY_SCHEMA)]


def _count(value: Any) -> int:
    """A whole number, which may be written in any way that a whole quantity can (3000m is 3)."""
    quantity = parse_quantity(value)
    if not quantity.is_whole:
        raise _fail("quantity", f"{value} is no whole number; devices are not divided")
    return quantity.value()


_COUNT_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}
GpuCount = Annotated[int, PlainValidator(_count), ShownAs(_COUNT_SCHEMA)]


class Share(str):
    """A percentage of a pool or quota, kept as text; `percent` is the number."""

    __slots__ = ()

    @property
    def percent(self) -> int:
        """0 to 100."""
        return int(self[:-1])


def _share(value: Any) -> Share:
    if isinstance(value, str):
        match = _PERCENT.match(value)
        if match and int(match[1]) <= 100:
            return Share(value)
    raise _fail("share", f"a percentage from 0% to 100% is wanted, this is {kind_of(value)}")


def share_or(parse: Any) -> Any:
    """A validator that takes a percentage or what `parse` takes."""

    def validate(value: Any) -> Any:
        if isinstance(value, str) and value.endswith("%"):
            return _share(value)
        return parse(value)

    return validate


_SHARE_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"^(100|[1-9]?[0-9])%$"},
        {"type": "integer", "minimum": 0},
        {"type": "number"},
        {"type": "string"},
    ]
}
CpuOrShare = Annotated[Quantity | Share, PlainValidator(share_or(_cpu)), ShownAs(_SHARE_SCHEMA)]
MemoryOrShare = Annotated[Quantity | Share, PlainValidator(share_or(_memory)), ShownAs(_SHARE_SCHEMA)]
CountOrShare = Annotated[int | Share, PlainValidator(share_or(_count)), ShownAs(_SHARE_SCHEMA)]


def in_full(value: Any) -> Any:
    """The short forms of a quota written out: "75%" is that share of everything, 32 is 32 GPUs."""
    if isinstance(value, str) and not isinstance(value, DecimalText):
        share = _share(value)
        return {"cpu": share, "memory": share, "gpu": share}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"gpu": value}
    if not isinstance(value, dict):
        raise _fail(
            "quota",
            f"a share such as 75%, a number of GPUs, or cpu, memory and gpu is wanted, this is {kind_of(value)}",
        )
    return value


def _duration(value: Any) -> int:
    text = _text(value) if not isinstance(value, int) or isinstance(value, bool) else None
    if text is None:
        raise _fail("duration", f'{value} has no unit: write "{value}s", "{value}m" or "{value}h"')
    match = _DURATION.match(text)
    if not text or not match:
        raise _fail("duration", f'"{text}" is no duration: write 90s, 30m, 1h30m or 2d')
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if not 1 <= total <= 2**31 - 1:
        raise _fail("duration", f'"{text}" is {total} s; 1 s to 2147483647 s can be stated')
    return total


Seconds = Annotated[
    int,
    PlainValidator(_duration),
    ShownAs({"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$"}),
]


def _minor(value: Any) -> str:
    text = _text(value)
    match = _MINOR.match(text)
    if not match:
        raise _fail("version", f'"{text}" is no Kubernetes version: write "1.37"')
    return text


MinorVersion = Annotated[
    str,
    PlainValidator(_minor),
    ShownAs({"type": "string", "pattern": r"^1\.[1-9][0-9]?(\.[0-9]+)?$"}),
]


def _int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _fail("wrong_type", f"a whole number is wanted, this is {kind_of(value)}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _fail("wrong_type", f"true or false is wanted, this is {kind_of(value)}")
    return value


Flag = Annotated[bool, BeforeValidator(_flag)]
Whole = Annotated[int, BeforeValidator(_int)]
Positive = Annotated[Whole, Field(ge=1, le=1_000_000)]
NonNegative = Annotated[Whole, Field(ge=0, le=2**31 - 1)]
