"""tramp's paths of noise: the classes are in ``treeamp.channels``."""
