"""tramp's paths of low-rank channels: the classes are in ``treeamp.channels``."""
