"""Repeatable measurements; see bench/README.md."""
