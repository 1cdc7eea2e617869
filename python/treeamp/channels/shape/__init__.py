"""tramp's paths of channels that reshape: the classes are in ``treeamp.channels``."""
