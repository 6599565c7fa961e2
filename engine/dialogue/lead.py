"""Whether what is known has decided for the cause in the lead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DECIDED = 0.8
"""From this probability on the lead may be decided. Of 407 simulated cases, each with findings drawn by the frequencies
of its cause, 77 % came to such a lead, and 99.7 % of these leads were of the true family; a bar of 0.7 decides 80 % and
is wrong twice as often, one of 0.9 is never wrong and leaves a third undecided. Real reports are less regular."""

GROUNDED = 5.0
"""Bits of evidence that a decided lead has, beside the likeness of the words. Of the first answers to 179 real reports,
84 had such a lead: with more evidence than this 32 of 37 were of the true family, with less 31 of 47."""


def leads(diagnosis: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The cause in front, where its probability may decide."""
    lead = next(iter(diagnosis["causes"]), None)
    return lead if lead is not None and lead["probability"] >= DECIDED else None


def decided(diagnosis: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The cause in front, where evidence has decided for it."""
    lead = leads(diagnosis)
    if lead is None or sum(item["bits"] for item in lead["evidence_for"]) < GROUNDED:
        return None
    return lead
