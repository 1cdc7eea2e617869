#!/usr/bin/env bash
# Adds a prior to a scratch copy of the tree: its file, its line and its reference values. It is then used from Rust, from a model
# file, and from Python.
#
#   python/tests/add_a_prior.sh FOLDER    FOLDER is made; builds go where CARGO_TARGET_DIR says, to target/added otherwise
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
copy=$1
mkdir -p "$copy"
copy=$(cd "$copy" && pwd)
# a place of its own: target/release/treeamp stays that of this tree
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/added

git -C "$root" ls-files -z --cached --others --exclude-standard \
    | tar -C "$root" --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -C "$copy" -xf -
cd "$copy"

# its file
cat >crates/treeamp/src/catalog/priors/two_points.rs <<'RUST'
//! Two values $p(x) = \rho\,\delta(x - h) + (1 - \rho)\,\delta(x)$: zero, or a height.

use rand::{Rng, RngExt as _};

use crate::catalog::module::{Domain, Module, SIZE, number};
use crate::error::{ModelError, parameter};
use crate::scalar::{ScalarPrior, Tilted};

/// Zero, or a height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoPoints {
    rho: f64,
    height: f64,
}

impl TwoPoints {
    /// `height` with probability `rho`, else zero.
    ///
    /// # Errors
    /// Unless $0 \le \rho \le 1$ and the height is finite.
    pub fn new(rho: f64, height: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&rho) {
            return Err(parameter(Self::NAME, "rho", "in [0, 1]", rho));
        }
        if !height.is_finite() {
            return Err(parameter(Self::NAME, "height", "finite", height));
        }
        Ok(Self { rho, height })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "zero or a height",
        formula: "p(x) = rho δ(x - height) + (1 - rho) δ(x)",
        tex: r"p(x) = \rho\,\delta(x - h) + (1 - \rho)\,\delta(x)",
        parameters: &[
            SIZE,
            number("rho", 0.5, Domain::Unit, "probability of the height")
                .called(r"\rho")
                .learned(),
            number("height", 1.0, Domain::Real, "the height").called("h"),
        ],
        constructor: |a| a.prior(Self::new(a.number("rho")?, a.number("height")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for TwoPoints {
    const NAME: &'static str = "two_points";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        let h = self.height;
        let high = self.rho.ln() - 0.5 * a * h * h + b * h;
        let low = (-self.rho).ln_1p();
        let top = high.max(low);
        // both sides of the log-odds by themselves: 1 - p has no digits left where p is nearly one
        let (up, down) = ((high - top).exp(), (low - top).exp());
        let sum = up + down;
        Tilted {
            log_z: top + sum.ln(),
            mean: h * (up / sum),
            variance: h * h * (up / sum) * (down / sum),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("rho", self.rho), ("height", self.height)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        if rng.random::<f64>() < self.rho { self.height } else { 0.0 }
    }

    fn log_density(&self, _: f64) -> f64 {
        f64::NEG_INFINITY
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        vec![(self.height, self.rho), (0.0, 1.0 - self.rho)]
    }

    fn support(&self) -> (f64, f64) {
        (self.height.min(0.0), self.height.max(0.0))
    }
}
RUST

# its line, and what Rust wants of a file
python3 - <<'PYTHON'
from pathlib import Path

path = Path("crates/treeamp/src/catalog/priors/mod.rs")
text = path.read_text()
law = "$crate::catalog::priors::TwoPoints"
for before, added in (
    ("mod positive;\n", "mod two_points;\n"),
    ("pub use positive::Positive;\n", "pub use two_points::TwoPoints;\n"),
    ("positive($crate", f"two_points({law}::MODULE) => {law}::new(0.3, 1.4);\n            "),
):
    assert text.count(before) == 1, before
    text = text.replace(before, before + added if before.endswith("\n") else added + before)
path.write_text(text)
PYTHON

# its reference values: sums of two terms
python3 - <<'PYTHON'
import json
from math import exp, log
from pathlib import Path

path = Path("oracle/data/laws2.json")
data = json.loads(path.read_text())
for rho, h in ((0.3, 1.4), (0.05, -2.0)):
    for a, b in ((0.0, 0.0), (0.5, -1.25), (3.0, 4.0), (-2.0, 0.5), (100.0, 140.0)):
        up, down = rho * exp(-a * h * h / 2 + b * h), 1 - rho
        p = up / (up + down)
        truth = {"A": log(up + down), "r": h * p, "v": h * h * p * down / (up + down)}
        law = {"cls": "two_points", "group": "prior", "params": {"rho": rho, "height": h}}
        data["records"].append({**law, "point": {"a": a, "b": b}, "truth": truth})
path.write_text(json.dumps(data))
PYTHON

echo "--- Rust: its conformance, and what the catalogue says of it"
cargo test --quiet -p treeamp --test laws two_points
cargo test --quiet -p treeamp --test laws modules::
echo "--- Rust: its reference values"
# the test finds the law by itself, and says so
cargo test --quiet -p treeamp --test laws own_values_of_second_set -- --nocapture | tee values
grep -E '^two_points +10 points' values

echo "--- a model file"
cat >two_points.toml <<'TOML'
[[factor]]
kind = "two_points"
size = 200
rho = 0.2
height = 3.0
output = "x"

[[factor]]
kind = "gaussian_noise"
variance = 0.1
input = "x"
output = "y"

[observe]
y = "sample"
TOML
cargo run --quiet --release -- modules two_points
cargo run --quiet --release -- run two_points.toml
cargo run --quiet --release -- predict two_points.toml

echo "--- Python"
cargo run --quiet --release -- modules --json >modules.json
python3 python/generate.py --catalogue modules.json
python3 -m venv environment
environment/bin/python -m pip install --quiet --disable-pip-version-check "maturin>=1.9,<2" numpy
PATH="$copy/environment/bin:$PATH" environment/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation .
cd /
"$copy/environment/bin/python" - <<'PYTHON'
import treeamp as ta

prior = ta.TwoPointsPrior(size=3, rho=0.25, height=2.0)
assert repr(prior) == "TwoPointsPrior(size=3, rho=0.25, height=2.0)", prior
assert abs(prior.second_moment() - 1.0) < 1e-12
assert repr(ta.priors.get_prior(3, "two_points")) == "TwoPointsPrior(size=3, rho=0.5, height=1.0)"
model = (ta.TwoPointsPrior(size=50, rho=0.2) @ ta.V("x") @ ta.GaussianChannel(var=0.1) @ ta.O("y")).to_model()
seen = model.to_observed({"y": model.sample(seed=0)["y"]})
assert ta.ExpectationPropagation(seen).iterate(max_iter=50).converged
print(prior)
PYTHON
echo "--- a new prior: its file, its line, its reference values"
