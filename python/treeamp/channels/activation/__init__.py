"""tramp's paths of activations: the classes are in ``treeamp.channels``."""
