"""Experiments: teacher-student scenarios, grids of them, critical values, and figures.

Tables are pandas DataFrames (``pip install treeamp[experiments]``), figures are matplotlib's
(``pip install treeamp[plot]``).
"""

from .critical import binary_search, find_critical_alpha, find_state_evolution_mse
from .plots import plot_compare, plot_compare_complex, plot_function, qplot
from .runs import ExecutorError, log_on_progress, run_experiments, save_experiments, simple_run_experiments
from .scenarios import BayesOptimalScenario, TeacherStudentScenario, run_state_evolution

__all__ = [
    "BayesOptimalScenario",
    "ExecutorError",
    "TeacherStudentScenario",
    "binary_search",
    "find_critical_alpha",
    "find_state_evolution_mse",
    "log_on_progress",
    "plot_compare",
    "plot_compare_complex",
    "plot_function",
    "qplot",
    "run_experiments",
    "run_state_evolution",
    "save_experiments",
    "simple_run_experiments",
]
