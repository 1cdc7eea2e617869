r"""Scalar beliefs: log-partition ``A``, mean ``r``, variance ``v``, second moment ``tau``, and the probability ``p``
of what each is about. All take arrays.

* :mod:`~treeamp.beliefs.normal` on the line, :math:`e^{-\frac12 a x^2 + b x}`;
* :mod:`~treeamp.beliefs.positive` and :mod:`~treeamp.beliefs.truncated` on half a line and on an interval;
* :mod:`~treeamp.beliefs.sparse` with a point mass at zero;
* :mod:`~treeamp.beliefs.mixture` of normals;
* :mod:`~treeamp.beliefs.binary` and :mod:`~treeamp.beliefs.exponential`.
"""

from . import binary, exponential, mixture, normal, positive, sparse, truncated

__all__ = ["binary", "exponential", "mixture", "normal", "positive", "sparse", "truncated"]
