"""Arithmetic that needs no diagnosis: tokens per update and static training memory.

``state`` holds the plain functions on numbers, ``tokens`` and ``memory`` the requests and results around them.
"""
