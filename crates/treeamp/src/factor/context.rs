//! What a factor is handed when it computes: the messages around it, a memory of its own, and what the attempt asks for.

use std::any::Any;
use std::fmt;

use super::Incoming;
use crate::belief::Gaussian;
use crate::error::FactorError;

/// What an attempt at a fixed point asks of every factor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Request {
    /// The width over which penalties are smoothed, relative to their input, where the attempt asks for it: their curvature then is that of
    /// $\frac1{2h}\int_{-h}^{h} \mathcal M(b + s)\,ds$, and does not jump. The mode stays that of the penalty.
    pub smoothing: Option<f64>,
    /// Linear channels may take approximate message passing ([`Route`](super::Route)); otherwise their messages are exact.
    pub iid: bool,
    /// Nobody reads the message that is asked for: a factor that [skips](super::PosteriorRule::skips_unread) such messages takes note of what
    /// reaches it, and writes nothing.
    pub unread: bool,
}

/// Everything a factor computes from.
#[derive(Debug)]
pub struct Context<'a, M = Gaussian> {
    /// The messages that reach its ports.
    pub incoming: Incoming<'a, M>,
    /// Its own last messages as its variables have them, after damping; `None` outside of a run.
    pub sent: Option<Incoming<'a, M>>,
    /// What the attempt asks for.
    pub request: Request,
    /// Its memory from sweep to sweep, made by [`Factor::workspace`](super::Factor::workspace).
    pub workspace: &'a mut Workspace,
}

impl<'a, M> Context<'a, M> {
    /// The context of a single evaluation, outside of a run.
    pub fn new(incoming: Incoming<'a, M>, workspace: &'a mut Workspace) -> Self {
        Self {
            incoming,
            sent: None,
            request: Request::default(),
            workspace,
        }
    }
}

/// The memory of one factor in one run, of a type that the factor chooses; empty for most factors.
///
/// ```
/// use treeamp::factor::Workspace;
/// #[derive(Clone)]
/// struct Seen {
///     updates: usize,
/// }
/// let mut workspace = Workspace::new(Seen { updates: 0 });
/// workspace.get::<Seen>()?.updates += 1;
/// assert_eq!(workspace.peek::<Seen>().map(|s| s.updates), Some(1));
/// assert!(workspace.get::<String>().is_err());
/// # Ok::<(), treeamp::FactorError>(())
/// ```
#[derive(Default)]
pub struct Workspace(Option<Box<dyn Memory>>);

/// A type that a workspace can hold.
trait Memory: Any + Send {
    fn copy(&self) -> Box<dyn Memory>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Any + Clone + Send> Memory for T {
    fn copy(&self) -> Box<dyn Memory> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Workspace {
    /// A workspace that holds `memory`.
    pub fn new<T: Any + Clone + Send>(memory: T) -> Self {
        Self(Some(Box::new(memory)))
    }

    /// The workspace of a factor that remembers nothing.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// What it holds.
    ///
    /// # Errors
    /// [`FactorError::Failed`] if it was made for a factor of another kind.
    pub fn get<T: Any>(&mut self) -> Result<&mut T, FactorError> {
        let held = self
            .0
            .as_mut()
            .and_then(|m| (**m).as_any_mut().downcast_mut());
        held.ok_or_else(|| {
            let expected = std::any::type_name::<T>();
            FactorError::Failed(format!(
                "expected a workspace that the factor made itself ({expected}), got another"
            ))
        })
    }

    /// What it holds, made first where it is of another type.
    ///
    /// # Errors
    /// As [`get`](Self::get): never.
    pub fn get_or_make<T: Any + Clone + Send>(
        &mut self,
        make: impl FnOnce() -> T,
    ) -> Result<&mut T, FactorError> {
        if self.peek::<T>().is_none() {
            *self = Self::new(make());
        }
        self.get()
    }

    /// What it holds, to look at; `None` if it is of another type.
    #[must_use]
    pub fn peek<T: Any>(&self) -> Option<&T> {
        self.0.as_ref().and_then(|m| (**m).as_any().downcast_ref())
    }
}

impl Clone for Workspace {
    fn clone(&self) -> Self {
        Self(self.0.as_ref().map(|m| (**m).copy()))
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Workspace(..)"
        } else {
            "Workspace(none)"
        })
    }
}
