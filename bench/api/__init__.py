"""How many diagnoses a second the service answers, and what of a request's CPU time is whose."""
