"""A path of tramp's; written by ``python/generate.py`` from ``python/tramp_names.json``."""

from treeamp.experiments import (
    BayesOptimalScenario,
    TeacherStudentScenario,
    run_state_evolution,
)

__all__ = [
    "BayesOptimalScenario",
    "TeacherStudentScenario",
    "run_state_evolution",
]
