"""Options of a run that are refused."""

from __future__ import annotations

from bad_calls import MODEL, RUN, TYPE, VALUE, W, Table, chain, ep, limit

import treeamp as ta

TABLE: Table = {
    "a step of zero": (lambda: ep(steps=[1.0, 0.0]), RUN, "`steps` must be in (0, 1], got 0"),
    "a negative step": (lambda: ep(steps=[-0.5]), RUN, "`steps`"),
    "no steps": (lambda: ep(steps=[]), VALUE, "at least one step"),
    "damping and steps": (lambda: ep(steps=[0.5], damping=0.1), TYPE, "got both"),
    "a sweep limit of zero": (lambda: ta.MAP(chain()).iterate(max_iter=0), VALUE, "`max_iter`"),
    "an unknown fallback": (lambda: ep(fallback="perhaps"), VALUE, "`fallback`"),
    "a forced fallback without a log-partition": (
        lambda: ep(chain(ta.CustomPrior(3, mean=lambda a, b: b / (1 + a), name="mine")), fallback="forced"),
        RUN, "factor `mine`: it has no log-partition",
    ),
    "restarts from nowhere": (lambda: ta.ExpectationPropagation(chain()).restart(0, plain=False), VALUE, "at least one start"),
    "a push without strength": (lambda: ep(initializer=ta.PushInit(strength=0.0)), RUN, "`strength`"),
    "a push of a theory": (lambda: ta.StateEvolution(limit()).iterate(initializer=ta.PushInit()), RUN, "limit"),
    "an estimate of another length": (lambda: ep(initializer=ta.NearInit("x", [1.0])), VALUE, "must have shape (3,)"),
    "an estimate of an unknown variable": (lambda: ep(initializer=ta.NearInit("w", [1.0])), VALUE, "no variable `w`"),
    "an estimate without precision": (lambda: ta.NearInit("x", [1.0], precision=0.0), VALUE, "`precision`"),
    "moduli of another number": (lambda: ta.spectral_estimate(W, [1.0]), MODEL, "2 moduli"),
    "moduli that are negative": (lambda: ta.spectral_estimate(W, [1.0, -1.0]), MODEL, "-1"),
    "no sweeps": (lambda: ep(max_iter=0), VALUE, "`max_iter` must be at least 1, got 0"),
    "sweeps with a fraction": (lambda: ep(max_iter=1.5), TYPE, "`max_iter` must be an integer"),
    "damping of one": (lambda: ep(damping=1), RUN, "`damping` must be in [0, 1), got 1"),
    "negative damping": (lambda: ep(damping=-0.1), RUN, "damping"),
    "damping by a word": (lambda: ep(damping="much"), RUN, "(id, direction, number) or 'adaptive', got 'much'"),
    "damping by the word none": (lambda: ep(damping="none"), RUN, "must be a number in [0, 1) (0 for none)"),
    "damping of an unknown variable": (lambda: ep(damping=[("w", "fwd", 0.1)]), VALUE, "there is no variable `w`"),
    "damping in no direction": (lambda: ep(damping=[("x", "up", 0.1)]), VALUE, "'fwd' or 'bwd'"),
    "damping of no message": (
        lambda: ta.ExpectationPropagation((ta.GaussianPrior(3) @ ta.V("x")).to_model()).iterate(damping=[("x", "bwd", 0.1)]),
        VALUE, "no backward message",
    ),
    "damping by pairs": (lambda: ep(damping=[("x", 0.1)]), TYPE, "(id, direction, number)"),
    "damping twice": (lambda: ep(damping=[("x", "fwd", 0.1), ("x", "fwd", 0.2)]), RUN, "given once"),
}

#: What must be refused, and the entries that show it.
PHRASES = {
    "damping outside [0, 1)": ["damping of one", "negative damping"],
    "a step schedule that is not positive": ["a step of zero", "a negative step"],
    "a sweep limit of zero": ["no sweeps", "a sweep limit of zero"],
    "a forced fallback on a factor without a log-partition": ["a forced fallback without a log-partition"],
}
