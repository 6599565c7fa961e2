"""How many checks, and at what cost, lead from a symptom to the cause."""
