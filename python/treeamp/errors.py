"""The exceptions of treeamp. Each carries the sentence of the native error: what was expected, and what came."""

__all__ = [
    "FactorError",
    "FileError",
    "MismatchError",
    "ModelError",
    "NotAvailable",
    "NotImported",
    "NotKnown",
    "NotThere",
    "RunError",
    "TooLarge",
    "TreeampError",
]


class TreeampError(Exception):
    """Any error of treeamp."""


class ModelError(TreeampError, ValueError):
    """A model that cannot be built, observed or sampled, or a parameter out of its range."""


class FactorError(TreeampError, ValueError):
    """A factor that cannot compute what it was asked."""


class RunError(TreeampError, ValueError):
    """A run that cannot be started, or a quantity that is not defined."""


class NotKnown(RunError, AttributeError):
    """An attribute that is known after a run only, or of another algorithm; ``hasattr`` says that there is none."""


class MismatchError(RunError):
    """A teacher and a student that do not share a tree: the theory of such a pair is not defined."""


class NotAvailable(TreeampError, NotImplementedError):
    """Something known by name that this version cannot do."""


class NotImported(NotAvailable, ImportError):
    """A name of tramp's that cannot be imported here; the sentence says what is in its place."""


class NotThere(NotAvailable, AttributeError):
    """The same of a name that is asked of a module: ``hasattr`` says that there is none."""


class TooLarge(TreeampError, MemoryError):
    """An array that no memory can hold."""


class FileError(TreeampError, OSError):
    """A journal or a table that cannot be read or written."""
