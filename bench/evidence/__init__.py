"""Reading large files: the product against what a user would install instead."""
