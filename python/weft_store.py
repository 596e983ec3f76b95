"""weft_store: another name of weft.store, which reads and writes graph stores, metrics and checkpoints."""
import sys

import weft.store

sys.modules[__name__] = weft.store
