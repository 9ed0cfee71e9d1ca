"""YAML text that stands as a string inside another object."""

from __future__ import annotations

import re
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9/._-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"})


class _Dumper(yaml.SafeDumper):
    """Block style, no aliases, and quotes around text that some reader could take for anything else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)


def yaml_text(body: Any) -> str:
    """`body` as YAML, its keys in their order; every YAML reader gets the same values back."""
    text: str = yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=2**20, allow_unicode=True)
    return text
