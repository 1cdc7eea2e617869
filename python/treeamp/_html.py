"""What notebooks show: tables in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["figure", "paragraph", "table"]


def figure(x: Any) -> str:
    """A number with four digits; anything else as its text."""
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def paragraph(text: str) -> str:
    """A line of text."""
    return f"<p>{escape(text)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; a wide one scrolls."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = ("<tr>" + "".join(f"<td>{escape(figure(x))}</td>" for x in row) + "</tr>" for row in rows)
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div style="overflow-x:auto">{body}</div>'
