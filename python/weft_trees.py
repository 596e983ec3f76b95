"""weft_trees: another name of weft.trees, boosted trees."""
import sys

import weft.trees

sys.modules[__name__] = weft.trees
