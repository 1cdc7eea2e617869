"""Writes the Python classes of scalar laws and activations from the catalogue.

    python3 python/generate.py            # writes them
    python3 python/generate.py --check    # says which are not up to date

The catalogue is what ``treeamp modules --json`` prints, or a file with that: ``--catalogue FILE``. Names and signatures of
tramp are in ``tramp_names.py``. A law has a class here if all its parameters are numbers or lists of them; classes that take arrays,
functions or operators are written by hand, and so are those of laws with ``"by_hand": True`` there.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from tramp_names import CHANNELS, LIKELIHOODS, PRIORS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "treeamp"
WIDTH = 120
#: The kind of a parameter that is a list.
LIST = "list of numbers"

#: Arguments that every class of a kind has: annotation, default, documentation.
_SIZE = ("Any", None, "int, tuple or None", "Number of components or shape; ``None`` for the limit of large sizes.")
_PARTS = ("Any", None, "tuple or None", "Shape, the parts on its first axis: ``(2, ...)``; ``None`` for the limit of large sizes.")
_ISOTROPIC = (
    "bool",
    "True",
    "bool",
    "One variance for all components; each its own otherwise, in modules asked alone and in models.",
)
_KEPT = ("bool", "True", "bool", "Kept for scripts that give it.")
_Y = ("Any", None, "array or None", "The observations; ``None`` for outputs that are observed and not told.")
_Y_NAME = ("str", '"y"', "str", "A name for them.")


class Law:
    """A module of the catalogue as a class of one kind."""

    def __init__(self, module: dict[str, Any], names: dict[str, dict[str, Any]], kind: str) -> None:
        own = names.get(module["kind"], {})
        camel = "".join(word.capitalize() for word in module["kind"].split("_"))
        prefix = "MAP_" if module["role"] == "penalty" else ""
        self.module, self.kind = module, kind
        self.name: str = own.get("class", f"{prefix}{camel}{kind}")
        self.key: str = own.get("key", module["kind"])
        self.also: dict[str, str] = own.get("also", {})
        self.example: str | None = own.get("example")
        self.parameters = []
        for parameter in module["parameters"]:
            if parameter["name"] != "size":
                name = own.get("renamed", {}).get(parameter["name"], parameter["name"])
                default = own.get("defaults", {}).get(name, parameter["default"])
                self.parameters.append({**parameter, "name": name, "default": default})
        self.signature: str | None = own.get("signature")

    @property
    def numbers(self) -> list[str]:
        return [p["name"] for p in self.parameters]

    @property
    def lists(self) -> list[str]:
        return [p["name"] for p in self.parameters if p["kind"] == LIST]

    def arguments(self) -> dict[str, tuple[str, str | None, str, str]]:
        """Annotation, default, type and documentation of every argument, in order."""
        own: dict[str, tuple[str, str | None, str, str]] = {}
        for p in self.parameters:
            default = None if p["default"] is None else str(p["default"])
            if p["kind"] == LIST:
                own[p["name"]] = ("Any", default and str(tuple(json.loads(default))), "array", meaning(p))
                continue
            own[p["name"]] = ("float", default, "float", meaning(p))
            if p["name"] in self.also:
                own[self.also[p["name"]]] = ("Any", "None", "float", f"Another name of ``{p['name']}``.")
        if self.kind == "Channel":
            return own
        if self.kind == "Likelihood":
            every = {"y": _Y, **own, "y_name": _Y_NAME, "isotropic": _ISOTROPIC}
        else:
            size = _PARTS if self.module["signals"] == "complex" else _SIZE
            one = self.module["role"] == "penalty" or self.module["signals"] == "complex"
            every = {"size": size, **own, "isotropic": _KEPT if one else _ISOTROPIC}
        if self.signature is None:
            return every
        return {name: every[name] for name in self.signature.replace("*, ", "").split(", ")}

    # --- the class

    def documentation(self) -> str:
        letter = "y" if self.kind == "Likelihood" else "x"
        tex, notes = (as_output(self.module[key], letter) for key in ("tex", "notes"))
        summary = self.module["summary"]
        text = f"{summary[0].upper()}{summary[1:]}: :math:`{tex}`."
        if self.module["role"] in ("likelihood", "loss") and self.kind == "Channel":
            text += " Its output must be observed."
        parts = [wrapped(text, 4)]
        if self.arguments():
            parts += ["", "Parameters", "----------"]
            for name, (_, _, kind, doc) in self.arguments().items():
                parts += [f"{name} : {kind}", indent(wrapped(doc, 8), "    ")]
        if notes and (self.kind != "Channel" or not notes.startswith("Observed")):
            notes = notes.removeprefix("Observed, ")
            parts += ["", "Notes", "-----", wrapped(re.sub(r"\$(.*?)\$", r":math:`\1`", notes), 4)]
        if self.example or self.numbers:
            parts += ["", "Examples", "--------", dedent(self.example or self.shown()).strip("\n")]
        return "\n".join(parts)

    def shown(self) -> str:
        """The class with its defaults."""
        first = {"Prior": "size=(2, 3)" if self.module["signals"] == "complex" else "size=3", "Likelihood": "y=None"}
        given = [first[self.kind]] if self.kind in first else []
        given += [f"{name}=1.0" for name, (_, default, *_) in self.arguments().items() if default is None and name in self.numbers]
        values = {p["name"]: shown_value(p) for p in self.parameters}
        seen = [first["Prior"]] if self.kind == "Prior" else ["y_name='y'"] if self.kind == "Likelihood" else []
        seen += [f"{name}={value}" for name, value in values.items()]
        return f">>> {self.name}({', '.join(given)})\n{self.name}({', '.join(seen)})"

    def init(self) -> str:
        arguments = []
        keyword_only = (self.signature or "").partition("*, ")[2].split(", ")
        for name, (annotation, default, *_) in self.arguments().items():
            if name == keyword_only[0]:
                arguments.append("*")
            arguments.append(f"{name}: {annotation}" + ("" if default is None else f" = {default}"))
        line = f"def __init__(self{''.join(', ' + a for a in arguments)}) -> None:"
        if len(line) + 4 > WIDTH:
            line = "def __init__(\n    self, " + ", ".join(arguments) + "\n) -> None:"
        body = []
        for name in self.numbers:
            value = f'owned(array({name}, "{name}"))' if name in self.lists else f'number({name}, "{name}")'
            if name in self.also:
                other = self.also[name]
                value = f'{value} if {other} is None else number({other}, "{other}")'
            body.append(f"self.{name} = {value}")
        start = {"Prior": "size, isotropic", "Likelihood": "y, y_name, isotropic", "Channel": ""}[self.kind]
        body.append(f"self._start({start})")
        return line + "\n" + indent("\n".join(body), "    ")

    def base(self) -> str:
        if self.kind == "Prior" and self.module["role"] == "penalty":
            return "Penalty"
        if self.kind == "Prior" and self.module["signals"] == "complex":
            return "ComplexPrior"
        return self.kind

    def source(self) -> str:
        first = {"Prior": ["size"], "Likelihood": ["y_name"], "Channel": []}[self.kind]
        lines = []
        if self.kind == "Channel" and self.module["signals"] == "any":
            lines.append("_complex = (None, None)")
        if self.kind == "Likelihood" and self.module["signals"] == "any":
            lines.append("_on_parts = True")
        if first + self.numbers and (self.kind != "Likelihood" or self.numbers):
            lines.append(f"repr_parameters = {literal(first + self.numbers)}")
        lines.append(f'_law = "{self.module["kind"]}"')
        if self.numbers:
            lines[-1] = f'_law, _native_parameters = "{self.module["kind"]}", {literal(self.numbers)}'
        text = f'r"""{self.documentation()}\n"""\n\n' + "\n".join(lines) + "\n\n" + self.init()
        if "\n" not in self.documentation():
            text = text.replace('\n"""', '"""', 1)
        return f"class {self.name}({self.base()}):\n" + indent(text, "    ") + "\n"


def shown_value(parameter: dict[str, Any]) -> str:
    """A default as the representation of a module shows it."""
    default = parameter["default"]
    if parameter["kind"] == LIST:
        return f"<array ({len(json.loads(default))},)>"
    return repr(float(default or 1))


def literal(names: list[str]) -> str:
    """A tuple of names."""
    return "(" + ", ".join(f'"{name}"' for name in names) + ("," if len(names) == 1 else "") + ")"


def meaning(parameter: dict[str, Any]) -> str:
    """What a parameter means, with its symbol and its domain."""
    doc, symbol, domain = parameter["doc"], parameter["symbol"], parameter["domain"]
    text = f":math:`{symbol}`: {doc}" if symbol else f"{doc[0].upper()}{doc[1:]}"
    return f"{text}." if domain == "any" else f"{text}; {domain}."


def as_output(tex: str, letter: str) -> str:
    """The formula of a channel with its output, ``x``, under another name: as a letter of its own."""
    if letter == "x":
        return tex
    return re.sub(r"(?<![A-Za-z\\])x(?![A-Za-z])", letter, tex)


def wrapped(text: str, margin: int) -> str:
    """Lines that fit; formulas stay whole."""
    words = re.findall(r"\S*:math:`[^`]*`\S*|\S+", text)
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) + margin > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def file(about: str, imports: str, laws: list[Law]) -> str:
    """A module of the package: its classes, and these by the names of the functions that look them up."""
    names = "".join(f'    "{name}",\n' for name in sorted(law.name for law in laws))
    kind = laws[0].base()
    table = "".join(f'    "{law.key}": {law.name},\n' for law in laws)
    classes = "\n\n".join(law.source() for law in laws)
    typing = "from typing import Any\n\n" if "Any" in classes else ""
    head = f'''r"""{about}

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.py``, not this file.
"""

from __future__ import annotations

{typing}{imports}

__all__ = [
{names}]


'''
    keys = f"\n\n#: The same by name.\nCLASSES: dict[str, type[{kind}]] = {{\n{table}}}\n"
    return head + classes + keys


def files(catalogue: list[dict[str, Any]]) -> dict[Path, str]:
    """The text of every file that is written."""
    scalar = [m for m in catalogue if all(p["kind"] == "number" or p["name"] == "size" for p in m["parameters"])]
    kinds = ("number", LIST)
    of_numbers = [m for m in catalogue if all(p["kind"] in kinds or p["name"] == "size" for p in m["parameters"])]
    generated = [m for m in of_numbers if m["role"] == "prior" and not PRIORS.get(m["kind"], {}).get("by_hand")]
    priors = [Law(m, PRIORS, "Prior") for m in generated]
    penalties = [Law(m, PRIORS, "Prior") for m in scalar if m["role"] == "penalty"]
    # on components: in the limit too, and between signals of one kind
    on_components = [
        m for m in of_numbers if m["role"] in ("channel", "likelihood", "loss") and (m["limit"] or m["role"] == "likelihood") and m["signals"] in ("any", "real")
    ]
    channels = [Law(m, CHANNELS, "Channel") for m in on_components]
    likelihoods = [Law(m, LIKELIHOODS, "Likelihood") for m in on_components if "likelihood" in m["supports"]]
    written = [
        ("priors/laws.py", "Laws on every component of a signal.", "base_prior import ComplexPrior, Prior", priors),
        ("priors/penalties.py", "Penalties and constraints on components, at their mode.", "base_penalty import Penalty", penalties),
        ("channels/activations.py", "Noise, and functions of components.", "base_channel import Channel", channels),
        ("likelihoods/laws.py", "Noise and functions of components, observed.", "base_likelihood import Likelihood", likelihoods),
    ]
    return {PACKAGE / path: file(about, f"{arrays(laws)}\nfrom .{base}", laws) for path, about, base, laws in written}


def arrays(laws: list[Law]) -> str:
    """What classes need to take their arguments."""
    some = any(law.lists for law in laws)
    return f"from .._arrays import {'array, number, owned' if some else 'number'}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the Python classes of scalar laws from the catalogue.")
    parser.add_argument("--check", action="store_true", help="compare only, and fail if a file is not up to date")
    parser.add_argument("--catalogue", metavar="FILE", help="what `treeamp modules --json` printed")
    options = parser.parse_args()
    if options.catalogue:
        text = Path(options.catalogue).read_text(encoding="utf-8")
    else:
        command = ["cargo", "run", "--quiet", "--release", "--", "modules", "--json"]
        text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    stale = []
    for path, source in files(json.loads(text)).items():
        if not path.exists() or path.read_text(encoding="utf-8") != source:
            stale.append(str(path.relative_to(ROOT)))
            if not options.check:
                path.write_text(source, encoding="utf-8")
    if stale and options.check:
        print(f"not what the catalogue says: {', '.join(stale)}; run python3 python/generate.py", file=sys.stderr)
        return 1
    for path in stale:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
