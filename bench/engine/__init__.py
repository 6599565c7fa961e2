"""How fast rules are decided, held against CLIPS, experta and plain Python: ``python -m bench.engine``."""
