"""Python's collector of reference cycles, set for processes that make rows by the hundred thousand."""

import gc

_THRESHOLDS = (200_000, 20, 1_000)
"""How many new objects, then how many rounds, cause a look at the young, the middle-aged and the old ones.

Rows hold no cycles and are freed without the collector; with Python's own thresholds, looking through them again and again
took a seventh of an index run. Garbage in cycles, of which requests make some, still goes within seconds.
"""


def collect_seldom() -> None:
    """Let the collector of this process run seldom. Call it once, where the process begins."""
    gc.set_threshold(*_THRESHOLDS)
