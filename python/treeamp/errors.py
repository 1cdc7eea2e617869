"""The exceptions of treeamp. Each carries the sentence of the native error: what was expected, and what came."""

__all__ = ["TreeampError", "ModelError", "FactorError", "RunError", "NotAvailable"]


class TreeampError(Exception):
    """Any error of treeamp."""


class ModelError(TreeampError, ValueError):
    """A model that cannot be built, observed or sampled, or a parameter out of its range."""


class FactorError(TreeampError, ValueError):
    """A factor that cannot compute what it was asked."""


class RunError(TreeampError, ValueError):
    """A run that cannot be started, or a quantity that is not defined."""


class NotAvailable(TreeampError, NotImplementedError):
    """Something known by name that this version cannot do."""
