"""Python has what the algorithms of the Rust library have: names, options, fields of reports, methods."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from rust_surface import METHODS, NAMES, PARTS, RUST_ONLY

import treeamp as ta

SOURCE = ROOT / "crates" / "treeamp" / "src"

#: Structs and enums whose parts, and types whose methods, Python offers.
STRUCTS = sorted({key.split(".")[0] for key in PARTS})
TYPES = sorted({key.split(".")[0] for key in METHODS})


@cache
def sources() -> dict[Path, str]:
    files = [path for folder in ("engine", "algorithms") for path in sorted((SOURCE / folder).rglob("*.rs"))]
    return {path: path.read_text().split("#[cfg(test)]")[0] for path in files}


def exported(module: str) -> set[str]:
    """The names that a module of the library makes public."""
    text = sources()[SOURCE / module]
    names = set(re.findall(r"^pub (?:struct|enum|fn|type|trait) (\w+)", text, re.M))
    for used in re.findall(r"^pub use ([^;]+);", text, re.M):
        last = used.split("::")[-1]
        names |= set(re.findall(r"\w+", used[used.index("{") :] if "{" in used else last))
    return names


def parts(name: str) -> set[str]:
    """Fields of structs and variants of enums of that name."""
    found = set()
    for text in sources().values():
        for kind, body in re.findall(rf"^pub (struct|enum) {name}\b[^;{{]*{{\n(.*?)^}}", text, re.M | re.S):
            pattern = r"^    pub (\w+):" if kind == "struct" else r"^    (\w+)(?:,| \{|\()"
            found |= {f"{name}.{part}" for part in re.findall(pattern, body, re.M)}
    return found


def methods(name: str) -> set[str]:
    """Public methods of a type."""
    found = set()
    for text in sources().values():
        for body in re.findall(rf"^impl(?:<[^{{]*?>)? {name}\b[^{{]*{{\n(.*?)^}}", text, re.M | re.S):
            found |= {f"{name}.{method}" for method in re.findall(r"^    pub fn (\w+)", body, re.M)}
    return found


def known(found: set[str], table: dict[str, str]) -> None:
    assert found, "the source of the library has moved"
    new = found - set(table) - set(RUST_ONLY)
    assert not new, f"new in Rust: give Python {sorted(new)}, and rust_surface.py a line each"
    gone = set(table) - found
    assert not gone, f"no longer in Rust: {sorted(gone)}"


def test_names() -> None:
    folder = "algorithms/state_evolution"
    modules = ("algorithms/mod.rs", f"{folder}/mod.rs", f"{folder}/phases/mod.rs")
    known(set().union(*map(exported, modules)), NAMES)


def test_options_and_reports() -> None:
    known(set().union(*map(parts, STRUCTS)), PARTS)


def test_methods() -> None:
    known(set().union(*map(methods, TYPES)), METHODS)


def offered(place: str) -> bool:
    """Whether Python has a name, an attribute, an argument, or a key that the documentation names."""
    path, _, argument = place.removesuffix(")").partition("(")
    path, _, key = path.removesuffix("]").partition("[")
    owner: Any = ta
    thing: Any = ta
    for name in path.split("."):
        owner, thing = thing, getattr(thing, name, None)
        if thing is None:
            # attributes that a constructor makes are in the documentation of their class
            documented = f"    {name} :" in (owner.__doc__ or "") or f"self.{name}" in inspect.getsource(owner)
            return documented and not argument
    if argument:
        return argument in inspect.signature(thing).parameters
    return not key or f"``{key}``" in f"{thing.__doc__} {owner.__doc__}"


@pytest.mark.parametrize("table", [NAMES, PARTS, METHODS], ids=["names", "parts", "methods"])
def test_python_has_them(table: dict[str, str]) -> None:
    missing = {rust: place for rust, place in table.items() if not offered(place)}
    assert not missing
