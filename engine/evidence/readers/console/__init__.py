"""Console output of training tools."""
