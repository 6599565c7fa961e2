"""Evidence of evaluations beside a checkpoint: results and their samples, generated texts, failure sets, overlap."""
