"""Writes the Python classes of scalar laws and activations from the catalogue.

    python3 python/generate.py            # writes them
    python3 python/generate.py --check    # says which are not up to date

The catalogue is what ``treeamp modules --json`` prints, or a file with that: ``--catalogue FILE``. A law has a class here if all its
parameters are numbers or lists of them; classes that take arrays, functions or operators are written by hand.

``tramp_names.json`` is the one table of tramp's names. A law without an entry under ``laws`` there has the name of the catalogue in
CamelCase and ``Prior``, ``Channel`` or ``Likelihood`` behind it (``MAP_`` before it if it is a penalty), the parameters of the catalogue,
and these signatures::

    Prior(size, parameters..., isotropic=True)
    Channel(parameters...)
    Likelihood(y, parameters..., y_name="y", isotropic=True)

An entry may have

``class``       the name of the class
``key``         the name that ``get_prior``, ``get_channel`` or ``get_likelihood`` takes
``parameters``  name of the catalogue to name in Python
``signature``   all arguments in their order, with defaults, ``*`` before those by keyword only
``also``        another name of a parameter, by name in Python; both are ``None`` in the signature
``recorded``    further names that reference values have for parameters, to that of the catalogue
``sets``        further attributes, as expressions
``example``     lines of the documentation, in place of the one that shows the defaults

``signatures`` has those of everything else that tramp has, by the module that it is in. Tests compare all of them with the package.
``paths`` has the modules that tramp's scripts import from, one class a file there, with the names of each: these files are written too.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "treeamp"
NAMES = json.loads((ROOT / "python" / "tramp_names.json").read_text(encoding="utf-8"))
TRAMP = NAMES["laws"]
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
_Y = ("Any", None, "array or None", "The observations; ``None`` for outputs without values, in theory.")
_Y_NAME = ("str", '"y"', "str", "A name for them.")


class Law:
    """A module of the catalogue as a class of one kind."""

    def __init__(self, module: dict[str, Any], kind: str) -> None:
        own = TRAMP[kind.lower()].get(module["kind"], {})
        camel = "".join(word.capitalize() for word in module["kind"].split("_"))
        prefix = "MAP_" if module["role"] == "penalty" else ""
        self.module, self.kind = module, kind
        self.name: str = own.get("class", f"{prefix}{camel.removesuffix(kind)}{kind}")
        key = own.get("key", module["kind"])
        #: What finds it, beside the name of the class.
        self.names = list(dict.fromkeys([key, module["kind"], *module["aliases"]]))
        self.also: dict[str, str] = own.get("also", {})
        self.sets: dict[str, str] = own.get("sets", {})
        self.example = "\n".join(own.get("example", []))
        called = own.get("parameters", {})
        own_parameters = (p for p in module["parameters"] if p["name"] != "size")
        self.parameters = [{**p, "name": called.get(p["name"], p["name"])} for p in own_parameters]
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
            default = None if p["default"] is None else written(p["default"])
            if p["kind"] == LIST:
                own[p["name"]] = ("Any", default, "array", meaning(p))
            elif p["name"] in self.also:
                other, doc = self.also[p["name"]], f"{meaning(p)[:-1]}; {default} by default."
                own[p["name"]] = ("float | None", "None", "float", doc)
                own[other] = ("float | None", "None", "float", f"Another name of ``{p['name']}``.")
            elif p["kind"] == "count":
                own[p["name"]] = ("int", default, "int", meaning(p))
            else:
                own[p["name"]] = ("float", default, "float", meaning(p))
        if self.kind == "Channel":
            every = own
        elif self.kind == "Likelihood":
            every = {"y": _Y, **own, "y_name": _Y_NAME, "isotropic": _ISOTROPIC}
        else:
            size = _PARTS if self.module["signals"] == "complex" else _SIZE
            one = self.module["role"] == "penalty" or self.module["signals"] == "complex"
            every = {"size": size, **own, "isotropic": _KEPT if one else _ISOTROPIC}
        if self.signature is None:
            return every
        declared, _ = parsed(self.signature)
        if sorted(declared) != sorted(every):
            raise ValueError(f"{self.name}: the table has the arguments {', '.join(declared)}, the catalogue {', '.join(every)}")
        return {name: (every[name][0], default, *every[name][2:]) for name, default in declared.items()}

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
            parts += ["", "Examples", "--------", self.example or self.shown()]
        return "\n".join(parts)

    def shown(self) -> str:
        """The class with its defaults."""
        first = {"Prior": "size=(2, 3)" if self.module["signals"] == "complex" else "size=3", "Likelihood": "y=None"}
        given = [first[self.kind]] if self.kind in first else []
        given += [f"{name}=1.0" for name, (_, default, *_) in self.arguments().items() if default is None and name in self.numbers]
        required = [name for name, (_, default, *_) in self.arguments().items() if default is None]
        values = {p["name"]: "1.0" if p["name"] in required else shown_value(p) for p in self.parameters}
        seen = [first["Prior"]] if self.kind == "Prior" else ["y_name='y'"] if self.kind == "Likelihood" else []
        seen += [f"{name}={value}" for name, value in values.items()]
        return f">>> {self.name}({', '.join(given)})\n{self.name}({', '.join(seen)})"

    def init(self) -> str:
        arguments = []
        keyword_only = parsed(self.signature or "")[1]
        for name, (annotation, default, *_) in self.arguments().items():
            if [name] == keyword_only[:1]:
                arguments.append("*")
            arguments.append(f"{name}: {annotation}" + ("" if default is None else f" = {default}"))
        line = f"def __init__(self{''.join(', ' + a for a in arguments)}) -> None:"
        if len(line) + 4 > WIDTH:
            line = "def __init__(\n    self, " + ", ".join(arguments) + "\n) -> None:"
        body = []
        for p in self.parameters:
            name = p["name"]
            if name in self.also:
                other = self.also[name]
                body.append(f"self.{name}, self._given_as = one_of({written(p['default'])}, {name}={name}, {other}={other})")
                continue
            reader = "count" if p["kind"] == "count" else "number"
            least = ", 0" if p["kind"] == "count" else ""  # its own domain is in the catalogue, which the error then tells
            given = f"() if {name} is None else {name}" if p["default"] == [] else name
            value = f'owned(array({given}, "{name}"))' if name in self.lists else f'{reader}({name}, "{name}"{least})'
            body.append(f"self.{name} = {value}")
        body += [f"self.{name} = {value}" for name, value in self.sets.items()]
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
    if parameter["kind"] == LIST and not default:
        return "[]"
    if parameter["kind"] == LIST:
        return f"<array ({len(default)},)>"
    return repr(default if parameter["kind"] == "count" else float(default))


def written(default: Any) -> str:
    """A default as the signature has it; a list that may be left out is ``None``."""
    if default == []:
        return "None"
    return repr(tuple(default) if isinstance(default, list) else default)


def source(default: ast.expr) -> str:
    """A default of a signature, words in double quotes."""
    value = ast.literal_eval(default)
    return json.dumps(value) if isinstance(value, str) else ast.unparse(default)


def parsed(signature: str) -> tuple[dict[str, str | None], list[str]]:
    """The arguments of a signature with their defaults, in order, and those by keyword only."""
    (function,) = ast.parse(f"def f({signature}): pass").body
    assert isinstance(function, ast.FunctionDef)
    declared = function.args
    names, by_keyword = [a.arg for a in declared.args], [a.arg for a in declared.kwonlyargs]
    defaults = [None] * (len(names) - len(declared.defaults)) + [source(x) for x in declared.defaults]
    defaults += [None if x is None else source(x) for x in declared.kw_defaults]
    return dict(zip(names + by_keyword, defaults)), by_keyword


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
    table = "".join(f'    "{name}": {law.name},\n' for law in laws for name in law.names)
    classes = "\n\n".join(law.source() for law in laws)
    typing = "from typing import Any\n\n" if "Any" in classes else ""
    head = f'''r"""{about}

Written by ``python/generate.py`` from the catalogue: change the law's ``MODULE`` or ``python/tramp_names.json``, not this file.
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
    plain = (*kinds, "count")
    of_counts = [m for m in catalogue if all(p["kind"] in plain or p["name"] == "size" for p in m["parameters"])]
    priors = [Law(m, "Prior") for m in of_counts if m["role"] == "prior"]
    penalties = [Law(m, "Prior") for m in scalar if m["role"] == "penalty"]
    # on components: in the limit too, and between signals of one kind. Channels that take lists are written by hand, laws of outputs alone are not
    outputs = [m for m in of_numbers if m["role"] in ("likelihood", "loss")]
    on_components = [m for m in scalar if m["role"] == "channel" and m["limit"]] + outputs
    on_components = [m for m in on_components if m["signals"] in ("any", "real")]
    channels = [Law(m, "Channel") for m in on_components]
    likelihoods = [Law(m, "Likelihood") for m in on_components if "likelihood" in m["supports"]]
    written = [
        ("priors/laws.py", "Laws on every component of a signal.", "base_prior import ComplexPrior, Prior", priors),
        ("priors/penalties.py", "Penalties and constraints on components, at their mode.", "base_penalty import Penalty", penalties),
        ("channels/activations.py", "Noise, and functions of components.", "base_channel import Channel", channels),
        ("likelihoods/laws.py", "Noise and functions of components, observed.", "base_likelihood import Likelihood", likelihoods),
    ]
    lists = {"priors": priors + penalties, "channels": channels, "likelihoods": likelihoods}
    exports = {PACKAGE / package / "__init__.py": exported(package, laws) for package, laws in lists.items()}
    of_laws = exports | {PACKAGE / path: file(about, f"{arrays(laws)}\nfrom .{base}", laws) for path, about, base, laws in written}
    return of_laws | {PACKAGE / f"{path.replace('.', '/')}.py": as_in_tramp(path, names.split()) for path, names in NAMES["paths"].items()}


def exported(package: str, laws: list[Law]) -> str:
    """The `__init__` of a package with the names of its laws: type checkers read a list, and nothing that is computed."""
    source = (PACKAGE / package / "__init__.py").read_text(encoding="utf-8")
    names = "".join(f'    "{name}",\n' for name in sorted(law.name for law in laws))
    return re.sub(r"__all__ \+= \[\n.*?\]", f"__all__ += [\n{names}]", source, flags=re.DOTALL)


def as_in_tramp(path: str, names: list[str]) -> str:
    """A file that tramp has, with names that this package has in its own places."""
    about = "A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."
    listed = "".join(f'    "{name}",\n' for name in names)
    imported = "".join(f"    {name},\n" for name in names)
    return f'"""{about}"""\n\nfrom treeamp.{path.split(".")[0]} import (\n{imported})\n\n__all__ = [\n{listed}]\n'


def arrays(laws: list[Law]) -> str:
    """What classes need to take their arguments."""
    counted = any(p["kind"] == "count" for law in laws for p in law.parameters)
    names = {"number"} | ({"count"} if counted else set()) | {n for law in laws if law.lists for n in ("array", "owned")} | {"one_of" for law in laws if law.also}
    return f"from .._arrays import {', '.join(sorted(names))}"


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
                path.parent.mkdir(exist_ok=True)
                path.write_text(source, encoding="utf-8")
    if stale and options.check:
        print(f"not what the catalogue says: {', '.join(stale)}; run python3 python/generate.py", file=sys.stderr)
        return 1
    for path in stale:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
