"""How many diagnoses a second the service answers, and what of a request's CPU time is whose."""

import os

# As the command does: threads for small matrices would make the stages, measured in this process, several times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
