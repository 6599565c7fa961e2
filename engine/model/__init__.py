"""Types shared by every part: the knowledge base, the case, the evidence, the diagnosis."""
