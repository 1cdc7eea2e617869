"""Files, tables and grids that are refused."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from bad_calls import MODEL, NAN, TYPE, VALUE, Table, full, generative, in_a_folder, other_table, table

import treeamp as ta
from treeamp.experiments import run_experiments, save_experiments


def another_table(folder: str) -> Any:
    """The file of one configuration stays as it is."""
    path = os.path.join(folder, "table.csv")
    save_experiments(table, path, a=[1])
    with open(path, "rb") as file:
        before = file.read()
    try:
        return save_experiments(table, path, a=[1], scale=2.0)
    finally:
        with open(path, "rb") as file:
            assert file.read() == before


TABLE: Table = {
    "a folder that is missing": (
        lambda: in_a_folder(lambda d: run_experiments(table, a=[1], journal=os.path.join(d, "no", "j"))), OSError, "No such file",
    ),
    "a file that is no journal": (lambda: run_experiments(table, a=[1], journal=__file__), VALUE, "line 1"),
    "a device for a journal": (lambda: run_experiments(table, a=[1], journal="/dev/zero"), OSError, "not a regular file"),
    "a journal of another configuration": (lambda: in_a_folder(lambda d: other_table(d, scale=2.0)), VALUE, "scale"),
    "a grid on a parameter that does not exist": (lambda: run_experiments(table, a=[1], c=[1, 2]), TYPE, "'c'"),
    "a disk that is full": (
        lambda: in_a_folder(lambda d: save_experiments(table, "/dev/full", a=[1], journal=None)), OSError, "cannot write /dev/full",
    ),
    "an output that is a folder": (
        lambda: in_a_folder(lambda d: save_experiments(table, d, a=[1], journal=None)), OSError, "cannot write",
    ),
    "a table of another configuration": (lambda: in_a_folder(another_table), VALUE, "scale"),
    "a law by a name that is nearly one": (lambda: ta.get_prior(3, "gauss_bernouli"), VALUE, "did you mean 'gauss_bernoulli'"),
    "observations of strings": (lambda: generative().to_observed({"y": ["a", "b"]}), TYPE, "`y` must be an array of numbers"),
    "observations of another number": (lambda: generative().to_observed({"y": np.ones(3)}), MODEL, "expected 2 values, got 3"),
    "NaN in data": (lambda: generative().to_observed({"y": [NAN, 1.0]}), MODEL, "finite"),
}

#: What must be refused, and the entries that show it.
PHRASES = {
    "unknown keys, with the nearest known one": ["a grid on a parameter that does not exist", "a law by a name that is nearly one"],
    "missing files": ["a folder that is missing"],
    "wrong array shapes and dtypes": ["observations of strings", "observations of another number"],
    "NaN in data": ["NaN in data"],
    "a grid on a parameter that does not exist": ["a grid on a parameter that does not exist"],
    "a disk that is full": ["a disk that is full"],
    "an output that exists": ["a journal of another configuration", "a table of another configuration", "an output that is a folder"],
}
