"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.experiments import (
    log_on_progress,
    run_experiments,
    save_experiments,
    simple_run_experiments,
)

__all__ = [
    "log_on_progress",
    "run_experiments",
    "save_experiments",
    "simple_run_experiments",
]
