"""Defects by group of gates; each module has a tuple ``DEFECTS``."""
