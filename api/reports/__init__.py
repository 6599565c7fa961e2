"""Faces of a finished audit: for people on a terminal and as a page, for pipelines as SARIF, JUnit and annotations."""
