//! Scalar laws behind their object-safe face.

use num_complex::Complex;

use super::{ObservedLaw as _, SeparableLikelihood, SeparablePrior};
use crate::scalar::{
    Elem, Landmark, OutputMeasure, Parity, Piece, ScalarChannel, ScalarLikelihood, ScalarPrior,
    ScalarView, Symmetry, Tilt, Tilted, TiltedPair,
};

impl<E: Elem, P: ScalarPrior<E>> ScalarView for SeparablePrior<P, E> {
    fn symmetry(&self) -> Symmetry {
        self.law().symmetry()
    }

    fn prior(&self, x: Tilt) -> Option<Tilted> {
        let t = self.law().tilted(x.a, E::from_real(x.b));
        Some(Tilted {
            log_z: t.log_z,
            mean: t.mean.re(),
            variance: t.variance,
        })
    }

    fn prior_excess(&self, x: Tilt) -> Option<f64> {
        Some(self.law().excess(x.a, E::from_real(x.b)))
    }

    fn log_density(&self, x: f64) -> Option<f64> {
        Some(self.law().log_density(E::from_real(x)))
    }

    fn point_masses(&self) -> Vec<(f64, f64)> {
        let atoms = self.law().atoms().into_iter();
        atoms.map(|(x, p)| (x.re(), p)).collect()
    }

    fn constellation(&self) -> Vec<(Complex<f64>, f64)> {
        if self.law().symmetry() != Symmetry::Constellation {
            return Vec::new();
        }
        let place = |x: E| match E::storage(&[x]) {
            [re, im] => Complex::new(*re, *im),
            _ => Complex::new(x.re(), 0.0),
        };
        let atoms = self.law().atoms().into_iter();
        atoms.map(|(x, p)| (place(x), p)).collect()
    }

    fn support(&self) -> (f64, f64) {
        self.law().support()
    }

    fn landmarks(&self, _: Option<f64>) -> Vec<Landmark> {
        let law = self.law();
        let mut marks = law.landmarks();
        if marks.is_empty() {
            let t = law.tilted(0.0, E::ZERO);
            if t.variance > 0.0 && t.variance.is_finite() {
                marks.push(Landmark::spread(t.mean.re(), t.variance.sqrt()));
            }
        }
        let atoms = law.atoms().into_iter().filter(|(_, p)| *p > 0.0);
        marks.extend(atoms.map(|(x, _)| Landmark::at(x.re())));
        let (low, high) = law.support();
        let ends = [low, high].into_iter().filter(|x| x.is_finite());
        marks.extend(ends.map(Landmark::at));
        marks
    }

    fn gaussian(&self) -> Option<(f64, f64)> {
        let own = self.law().as_gaussian()?;
        Some((own.b.re() / own.a, 1.0 / own.a))
    }
}

impl<E: Elem, L: ScalarLikelihood<E>> ScalarView for SeparableLikelihood<L, E> {
    fn symmetry(&self) -> Symmetry {
        self.law().symmetry()
    }

    fn output_log_density(&self, y: f64, z: f64) -> Option<f64> {
        let y = L::Output::from_real(y);
        Some(self.law().log_density(y, E::from_real(z)))
    }

    fn likelihood(&self, y: f64, z: Tilt) -> Option<Tilted> {
        let y = L::Output::from_real(y);
        let t = self.law().tilted(y, z.a, E::from_real(z.b));
        Some(Tilted {
            log_z: t.log_z,
            mean: t.mean.re(),
            variance: t.variance,
        })
    }

    fn likelihood_excess(&self, y: f64, z: Tilt) -> Option<f64> {
        let y = L::Output::from_real(y);
        Some(self.law().excess(y, z.a, E::from_real(z.b)))
    }

    fn likelihood_with_excess(&self, y: f64, z: Tilt) -> Option<(Tilted, f64)> {
        let y = L::Output::from_real(y);
        let both = self.law().tilted_with_excess(y, z.a, E::from_real(z.b));
        both.map(|(t, excess)| {
            let t = Tilted {
                log_z: t.log_z,
                mean: t.mean.re(),
                variance: t.variance,
            };
            (t, excess)
        })
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        self.law().outputs()
    }

    fn is_tabulated(&self) -> bool {
        self.law().is_tabulated()
    }

    fn check_output(&self, y: f64) -> Result<(), String> {
        self.law().check(L::Output::from_real(y))
    }

    fn components(&self) -> Option<usize> {
        self.law().components()
    }

    fn component(&self, i: usize) -> Option<Box<dyn ScalarView>> {
        let law = self.law().of(i).into_owned();
        Some(Box::new(law.unspecified()))
    }

    fn map(&self, z: f64) -> Option<f64> {
        self.law().map(E::from_real(z)).map(Elem::re)
    }

    fn landmarks(&self, y: Option<f64>) -> Vec<Landmark> {
        let Some(y) = y else { return Vec::new() };
        let y = L::Output::from_real(y);
        let mut marks = self.law().landmarks(y);
        if marks.is_empty() {
            let (low, high) = self.law().support(y);
            let ends = [low, high].into_iter().filter(|z| z.is_finite());
            marks.extend(ends.map(Landmark::at));
        }
        marks
    }

    fn parity(&self) -> Option<Parity> {
        self.law().parity()
    }

    #[allow(clippy::float_cmp)] // one point is one point
    fn quadratic(&self, y: f64) -> bool {
        let y = L::Output::from_real(y);
        let (low, high) = self.law().support(y);
        low == high || self.law().as_gaussian(y).is_some()
    }

    fn gaussian(&self) -> Option<(f64, f64)> {
        self.law().noise_variance().map(|v| (0.0, v))
    }
}

impl<C: ScalarChannel> ScalarView for C {
    fn symmetry(&self) -> Symmetry {
        ScalarChannel::symmetry(self)
    }

    fn channel(&self, z: Tilt, x: Tilt) -> Option<TiltedPair> {
        Some(real(&self.tilted(element(z), element(x))))
    }

    fn channel_with_excess(&self, z: Tilt, x: Tilt, over: [bool; 2]) -> Option<(TiltedPair, f64)> {
        let (t, excess) = self.tilted_with_excess(element(z), element(x), over);
        Some((real(&t), excess))
    }

    fn map(&self, z: f64) -> Option<f64> {
        ScalarChannel::map(self, C::In::from_real(z)).map(Elem::re)
    }

    fn tabulated(&self, a: [f64; 2], reach: f64) -> Option<Box<dyn ScalarView>> {
        ScalarChannel::tabulated(self, a, reach)
    }

    fn parity(&self) -> Option<Parity> {
        ScalarChannel::parity(self)
    }

    fn landmarks(&self, _: Option<f64>) -> Vec<Landmark> {
        ScalarChannel::landmarks(self)
    }

    fn images(&self, mean: f64, deviation: f64) -> Vec<Landmark> {
        ScalarChannel::images(self, mean, deviation)
    }

    fn is_smooth(&self) -> bool {
        ScalarChannel::is_smooth(self)
    }

    fn pieces(&self) -> Vec<Piece> {
        ScalarChannel::pieces(self)
    }
}

fn element<E: Elem>(t: Tilt) -> Tilt<E> {
    Tilt {
        a: t.a,
        b: E::from_real(t.b),
    }
}

fn real<I: Elem, O: Elem>(t: &TiltedPair<I, O>) -> TiltedPair {
    TiltedPair {
        log_z: t.log_z,
        mean_z: t.mean_z.re(),
        variance_z: t.variance_z,
        mean_x: t.mean_x.re(),
        variance_x: t.variance_x,
    }
}
