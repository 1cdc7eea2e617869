"""pandas, when it is needed."""

from __future__ import annotations

from typing import Any


def pandas() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError("experiments return pandas tables: pip install treeamp[experiments]") from error
    return pandas
