"""Tiny healthy checkpoints, written without torch."""
