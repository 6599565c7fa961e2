"""How good the answers are: scores on labelled incidents, cases of the knowledge base, and the fit of its numbers."""
