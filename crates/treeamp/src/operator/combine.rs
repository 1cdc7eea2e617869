//! Operators made of operators: composition $W_k\cdots W_1$, stacking $(W_1; \dots; W_k)$, and
//! block-diagonal $\mathrm{diag}(W_1, \dots, W_k)$.

use std::ops::Range;
use std::sync::Arc;

use super::{LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};

type Parts = Vec<Arc<dyn LinearOperator>>;

fn not_empty(module: &str, parts: &Parts) -> Result<(), ModelError> {
    if parts.is_empty() {
        return Err(parameter(module, "parts", "at least one operator", "none"));
    }
    Ok(())
}

/// A flat signal as long as several together, all of one element type.
fn joined<'a>(
    module: &str,
    signals: impl Iterator<Item = &'a SignalSpec> + Clone,
) -> Result<SignalSpec, ModelError> {
    let count: usize = signals.clone().map(SignalSpec::count).sum();
    let complex = signals
        .clone()
        .filter(|s| s.element == Element::Complex)
        .count();
    match (complex, signals.count()) {
        (0, _) => Ok(SignalSpec::real([count])),
        (k, n) if k == n => Ok(SignalSpec::complex([count])),
        (k, n) => {
            let got = format!("{k} complex ones of {n}");
            Err(parameter(module, "parts", "all real or all complex", got))
        }
    }
}

fn largest_scratch(parts: &Parts) -> usize {
    parts.iter().map(|p| p.scratch_len(1)).max().unwrap_or(0)
}

/// One operator after another: the first of the list acts first.
#[derive(Debug)]
pub struct Composition {
    parts: Parts,
    widest: usize,
}

impl Composition {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "composition";

    /// $W_k\cdots W_1$ of `[W_1, ..., W_k]`.
    ///
    /// # Errors
    /// No operator, or neighbours whose signals differ.
    pub fn new(parts: Parts) -> Result<Self, ModelError> {
        not_empty(Self::NAME, &parts)?;
        for pair in parts.windows(2) {
            if !pair[0].output().same_signal(pair[1].input()) {
                let expected = format!("such that {} takes {}", pair[1].name(), pair[0].output());
                return Err(parameter(Self::NAME, "parts", expected, pair[1].input()));
            }
        }
        let widest = parts.iter().map(|p| p.output().len()).max().unwrap_or(0);
        Ok(Self { parts, widest })
    }
}

/// Passes `first` through the steps, from buffer to buffer, the last into `out`.
fn relay(
    first: &[f64],
    out: &mut [f64],
    scratch: &mut [f64],
    widest: usize,
    steps: &mut dyn ExactSizeIterator<Item = &Arc<dyn LinearOperator>>,
    step: impl Fn(&dyn LinearOperator, &[f64], &mut [f64], &mut [f64]),
    result_len: impl Fn(&dyn LinearOperator) -> usize,
) {
    let (mut here, rest) = scratch.split_at_mut(widest);
    let (mut there, rest) = rest.split_at_mut(widest);
    let count = steps.len();
    let mut len = first.len();
    for (i, part) in steps.enumerate() {
        let next = result_len(part.as_ref());
        let from = if i == 0 { first } else { &here[..len] };
        if i + 1 == count {
            step(part.as_ref(), from, out, rest);
        } else {
            step(part.as_ref(), from, &mut there[..next], rest);
            std::mem::swap(&mut here, &mut there);
        }
        len = next;
    }
}

impl LinearOperator for Composition {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn parts(&self) -> &[Arc<dyn LinearOperator>] {
        &self.parts
    }

    fn summary(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|p| p.name()).collect();
        names.join(", then ")
    }

    fn input(&self) -> &SignalSpec {
        self.parts[0].input()
    }

    fn output(&self) -> &SignalSpec {
        self.parts[self.parts.len() - 1].output()
    }

    fn scratch_len(&self, _: usize) -> usize {
        2 * self.widest + largest_scratch(&self.parts)
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let mut steps = self.parts.iter();
        let len = |p: &dyn LinearOperator| p.output().len();
        relay(
            z,
            out,
            scratch,
            self.widest,
            &mut steps,
            LinearOperator::apply,
            len,
        );
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let mut steps = self.parts.iter().rev();
        let len = |p: &dyn LinearOperator| p.input().len();
        relay(
            x,
            out,
            scratch,
            self.widest,
            &mut steps,
            LinearOperator::adjoint,
            len,
        );
    }
}

/// Several operators on the same input, their outputs laid end to end.
#[derive(Debug)]
pub struct Stack {
    parts: Parts,
    output: SignalSpec,
}

impl Stack {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "stack";

    /// $(W_1; \dots; W_k)$.
    ///
    /// # Errors
    /// No operator, inputs that differ, real and complex outputs together.
    pub fn new(parts: Parts) -> Result<Self, ModelError> {
        not_empty(Self::NAME, &parts)?;
        let input = parts[0].input();
        if let Some(other) = parts.iter().find(|p| !p.input().same_signal(input)) {
            let expected = format!("on the same input {input}");
            return Err(parameter(Self::NAME, "parts", expected, other.input()));
        }
        let output = joined(Self::NAME, parts.iter().map(|p| p.output()))?;
        Ok(Self { parts, output })
    }
}

impl LinearOperator for Stack {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn parts(&self) -> &[Arc<dyn LinearOperator>] {
        &self.parts
    }

    fn input(&self) -> &SignalSpec {
        self.parts[0].input()
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.input().len() + largest_scratch(&self.parts)
    }

    fn apply(&self, z: &[f64], mut out: &mut [f64], scratch: &mut [f64]) {
        for part in &self.parts {
            let (mine, rest) = out.split_at_mut(part.output().len());
            part.apply(z, mine, scratch);
            out = rest;
        }
    }

    fn adjoint(&self, mut x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (term, scratch) = scratch.split_at_mut(out.len());
        out.fill(0.0);
        for part in &self.parts {
            let (mine, rest) = x.split_at(part.output().len());
            part.adjoint(mine, term, scratch);
            out.iter_mut().zip(term.iter()).for_each(|(o, t)| *o += t);
            x = rest;
        }
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        let mut total = vec![0.0; self.input().len()];
        for part in &self.parts {
            let diagonal = part.gram_diagonal()?;
            total.iter_mut().zip(diagonal).for_each(|(t, d)| *t += d);
        }
        Some(total)
    }
}

/// Operators side by side, their inputs and outputs laid end to end. It has a singular system when
/// all of them have one.
#[derive(Debug)]
pub struct BlockDiagonal {
    parts: Parts,
    input: SignalSpec,
    output: SignalSpec,
    modes: Option<Modes>,
}

impl BlockDiagonal {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "block_diagonal";

    /// $\mathrm{diag}(W_1, \dots, W_k)$.
    ///
    /// # Errors
    /// No operator, real and complex signals together, a decomposition that fails.
    pub fn new(parts: Parts) -> Result<Self, ModelError> {
        not_empty(Self::NAME, &parts)?;
        let input = joined(Self::NAME, parts.iter().map(|p| p.input()))?;
        let output = joined(Self::NAME, parts.iter().map(|p| p.output()))?;
        let modes = joined_modes(&parts, output.len())
            .map_err(|e| parameter(Self::NAME, "parts", "with a decomposition", e))?;
        Ok(Self {
            parts,
            input,
            output,
            modes,
        })
    }

    /// Calls `f` on every block with its part of `from` and of `to`.
    fn blocks(
        &self,
        from: &[f64],
        to: &mut [f64],
        lens: impl Fn(&dyn LinearOperator) -> (usize, usize),
        mut f: impl FnMut(&dyn LinearOperator, &[f64], &mut [f64]),
    ) {
        let (mut start, mut end) = (0, 0);
        for part in &self.parts {
            let (n, m) = lens(part.as_ref());
            f(
                part.as_ref(),
                &from[start..start + n],
                &mut to[end..end + m],
            );
            start += n;
            end += m;
        }
    }

    /// Calls `f` on every block's singular system with the places of its input, output and modes.
    fn systems(&self, mut f: impl FnMut(&dyn SingularSystem, [Range<usize>; 3])) {
        let (mut z, mut x, mut k) = (0, 0, 0);
        for part in &self.parts {
            let (n, m) = (part.input().len(), part.output().len());
            if let Ok(Some(system)) = part.singular_system() {
                let modes = system.modes().layout_len();
                f(system, [z..z + n, x..x + m, k..k + modes]);
                k += modes;
            }
            z += n;
            x += m;
        }
    }
}

/// The modes of all blocks, if all have them in the same layout.
fn joined_modes(parts: &Parts, outputs: usize) -> Result<Option<Modes>, FactorError> {
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    let mut lanes = None;
    let mut square = true;
    for part in parts {
        let Some(system) = part.singular_system()? else {
            return Ok(None);
        };
        let modes = system.modes();
        if *lanes.get_or_insert(modes.lanes()) != modes.lanes() {
            return Ok(None);
        }
        square &= modes.spans_output();
        values.extend((0..modes.count()).map(|i| modes.value(i)));
        weights.extend((0..modes.count()).map(|i| modes.multiplicity(i)));
    }
    // a single value would stand for all modes
    let joined = Modes::new(values, lanes.unwrap_or(1), &weights, outputs);
    Ok(Some(if square {
        joined
    } else {
        joined.without_output_zeros(outputs)
    }))
}

impl LinearOperator for BlockDiagonal {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn parts(&self) -> &[Arc<dyn LinearOperator>] {
        &self.parts
    }

    fn summary(&self) -> String {
        format!("{} blocks", self.parts.len())
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn scratch_len(&self, _: usize) -> usize {
        largest_scratch(&self.parts)
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let lens = |p: &dyn LinearOperator| (p.input().len(), p.output().len());
        self.blocks(z, out, lens, |p, z, out| p.apply(z, out, scratch));
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let lens = |p: &dyn LinearOperator| (p.output().len(), p.input().len());
        self.blocks(x, out, lens, |p, x, out| p.adjoint(x, out, scratch));
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(self.modes.as_ref().map(|_| self as &dyn SingularSystem))
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        let blocks: Option<Vec<Vec<f64>>> = self.parts.iter().map(|p| p.gram_diagonal()).collect();
        blocks.map(|b| b.concat())
    }
}

impl SingularSystem for BlockDiagonal {
    fn modes(&self) -> &Modes {
        match &self.modes {
            Some(modes) => modes,
            None => unreachable!("a singular system is only given where it is known"),
        }
    }

    fn scratch_len(&self, columns: usize) -> usize {
        let mut len = 0;
        self.systems(|s, _| len = len.max(s.scratch_len(columns)));
        len
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.systems(|s, [at, _, modes]| s.analyse_input(&z[at], &mut out[modes], scratch));
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.systems(|s, [_, at, modes]| s.analyse_output(&x[at], &mut out[modes], scratch));
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.systems(|s, [at, _, modes]| s.to_input(&mut y[modes], &mut out[at], scratch));
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.systems(|s, [_, at, modes]| s.to_output(&mut y[modes], &mut out[at], scratch));
    }
}
