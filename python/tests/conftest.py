"""What the tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def oracle() -> Path:
    """The folder of external reference values, or a skip."""
    where = os.environ.get("TREEAMP_ORACLE")
    if not where:
        pytest.skip("TREEAMP_ORACLE is not set: external reference values are not compared")
    return Path(where)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Interrupts raise ``KeyboardInterrupt``, also where the shell that started the tests ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
