"""Every table of bad calls, and what it must show."""

from __future__ import annotations

import bad_arguments
import bad_convergence
import bad_core
import bad_files
import bad_input
import bad_operators
import bad_options
import bad_penalties
import bad_theory
import pytest
from bad_calls import check

#: Tables by their subject; ``PHRASES`` of each are what must be refused, with the entries that show it.
SUBJECTS = {
    "arguments": bad_arguments,
    "convergence": bad_convergence,
    "core": bad_core,
    "files": bad_files,
    "input": bad_input,
    "operators": bad_operators,
    "options": bad_options,
    "penalties": bad_penalties,
    "theory": bad_theory,
}

CALLS = [(subject, name) for subject, module in SUBJECTS.items() for name in module.TABLE]
SHOWN = [(subject, phrase) for subject, module in SUBJECTS.items() for phrase in getattr(module, "PHRASES", ())]


@pytest.mark.parametrize(("subject", "name"), CALLS)
def test_bad_call(subject: str, name: str) -> None:
    check(SUBJECTS[subject].TABLE, name)


@pytest.mark.parametrize(("subject", "phrase"), SHOWN)
def test_every_phrase_has_its_calls(subject: str, phrase: str) -> None:
    entries = SUBJECTS[subject].PHRASES[phrase]
    assert entries and set(entries) <= set(SUBJECTS[subject].TABLE)


def test_the_table_of_the_package_itself_is_long() -> None:
    assert len(bad_input.TABLE) >= 50
