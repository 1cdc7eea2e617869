"""Stubs agree with the native module, types check, examples in documentation run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

import treeamp

PACKAGE = Path(treeamp.__file__).parent


def checked(folder: Path, *command: str) -> None:
    told = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder)
    assert told.returncode == 0, told.stdout + told.stderr


def test_stubs_agree_with_the_module(tmp_path: Path) -> None:
    checked(tmp_path, "mypy.stubtest", "treeamp._lib")


def test_types_check(tmp_path: Path) -> None:
    """As the oldest interpreter that is supported sees them."""
    checked(tmp_path, "mypy", "--strict", "--python-version", "3.10", "-p", "treeamp")


def test_it_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_lib.pyi").exists()


def modules() -> list[str]:
    found = pkgutil.walk_packages([str(PACKAGE)], "treeamp.")
    return ["treeamp", *(m.name for m in found if not m.name.endswith("_lib"))]


@pytest.mark.parametrize("name", modules())
def test_examples_in_documentation(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def own_parameters(kind: type) -> list[str]:
    """Named parameters of a constructor in Python."""
    init = inspect.getattr_static(kind, "__init__")
    if not inspect.isfunction(init):
        return []
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in inspect.signature(init).parameters.values() if p.kind in named and p.name != "self"]


@pytest.mark.parametrize("name", [m for m in modules() if "." in m])
def test_everything_is_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    for public in getattr(module, "__all__", []):
        thing = getattr(module, public)
        if callable(thing) and getattr(thing, "__module__", "").startswith("treeamp"):
            assert thing.__doc__, f"{name}.{public}"
            if isinstance(thing, type) and "._" not in thing.__module__ and own_parameters(thing):
                # those that a run makes tell what they hold instead
                assert "Parameters\n" in thing.__doc__ or "Attributes\n" in thing.__doc__, f"{name}.{public}"


def test_examples_of_the_guide() -> None:
    guide = ROOT / "docs" / "python.md"
    found = doctest.testfile(str(guide), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0 and found.attempted > 15


def test_example_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    exec(compile(code, "README.md", "exec"), {})
    told = capsys.readouterr().out
    assert "converged" in told and "log-evidence" in told
