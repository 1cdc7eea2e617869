"""Numbers of the command line on the shipped models, before and after a change of the inside.

    python3 oracle/baseline/run.py BINARY --write             # makes values.json
    python3 oracle/baseline/run.py BINARY                     # compares with it

`BINARY` is a built command line (`target/release/treeamp`). Every number of every answer is compared, but for times; the tolerance is
relative to the largest number of the answer or absolute at 1, whichever is larger. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
VALUES = HERE / "values.json"
TOLERANCE = 1e-6
#: Words of keys whose numbers are times, or count steps.
NOT_COMPARED = ("second", "time", "sweeps", "evaluations", "residual", "trace", "version")

COMMANDS = [
    "run models/sparse_regression.toml",
    "run models/lasso.toml --map",
    "run models/total_variation.toml --map",
    "run models/total_variation.toml",
    "run models/two_views.toml",
    "run models/star_field.toml",
    "run models/sparse_fourier.toml",
    "run models/perceptron.toml",
    "run models/relu_regression.toml",
    "run models/complex_phase_retrieval.toml",
    "predict models/sparse_regression.toml",
    "predict models/compressed_sensing.toml",
    "predict models/lasso.toml",
    "predict models/mismatched.toml",
    "predict models/perceptron.toml",
    "predict models/phase_retrieval.toml",
    "predict models/relu_regression.toml",
    "predict models/symmetric_door.toml",
    "predict models/two_views.toml",
    "threshold models/compressed_sensing.toml --between .1:.9 --kind all",
    "threshold models/perceptron.toml --between .5:3 --kind all",
    "threshold models/phase_retrieval.toml --between .2:2 --kind all",
    "threshold models/relu_regression.toml --between .2:3 --kind all",
]


def answer(binary: str, command: str) -> dict[str, object]:
    clock = time.monotonic()
    ran = subprocess.run([binary, *command.split(), "--json"], capture_output=True, text=True, cwd=HERE.parents[1])
    seconds = time.monotonic() - clock
    try:
        said = json.loads(ran.stdout)
    except json.JSONDecodeError:
        said = ran.stderr.strip()
    return {"code": ran.returncode, "seconds": round(seconds, 2), "answer": said}


def numbers(said: object, path: str = "") -> dict[str, float]:
    """Every number of an answer, by its path."""
    if any(word in path.rsplit(".", 1)[-1] for word in NOT_COMPARED):
        return {}
    if isinstance(said, bool) or said is None or isinstance(said, str):
        return {}
    if isinstance(said, (int, float)):
        return {path: float(said)}
    parts = said.items() if isinstance(said, dict) else enumerate(said)  # type: ignore[arg-type]
    found: dict[str, float] = {}
    for key, value in parts:
        found.update(numbers(value, f"{path}.{key}"))
    return found


def differences(old: dict[str, object], new: dict[str, object]) -> list[str]:
    said = []
    if old["code"] != new["code"]:
        said.append(f"exit code {old['code']}, now {new['code']}")
    before, after = numbers(old["answer"]), numbers(new["answer"])
    scale = max([1.0, *map(abs, before.values())])
    for path in sorted(before):
        if path not in after:
            said.append(f"{path}: {before[path]}, now missing")
        elif abs(before[path] - after[path]) > TOLERANCE * scale:
            said.append(f"{path}: {before[path]}, now {after[path]}")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    binary = str(Path(given.binary).resolve())
    if given.write:
        values = {}
        for command in COMMANDS:
            values[command] = answer(binary, command)
            print(f"{values[command]['seconds']:8.2f} s  {command}", file=sys.stderr)
        VALUES.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")
        return 0
    known, failed = json.loads(VALUES.read_text()), 0
    for command, old in known.items():
        new = answer(binary, command)
        found = differences(old, new)
        failed += bool(found)
        print(f"{'differs' if found else 'same':8} {old['seconds']:8.2f} s, now {new['seconds']:8.2f} s  {command}")
        for line in found[:8]:
            print(f"         {line}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
