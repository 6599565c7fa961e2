"""How much the longest tests do: what a run of all checks has time for, or with THOROUGH=1 in full."""

import os

THOROUGH = bool(os.environ.get("THOROUGH"))


def effort(usual: int, thorough: int) -> int:
    """How often to do it."""
    return thorough if THOROUGH else usual
