"""Which characters count as hidden."""

import unicodedata

from api.hidden import HIDDEN, HIDDEN_IN_LINES

CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
JOINERS = {"\u200c", "\u200d"}


def test_every_hidden_character_is_known() -> None:
    everything = "".join(map(chr, range(0x110000)))
    shown = set(HIDDEN.sub("", everything))
    assert {c for c in shown if unicodedata.category(c) in CATEGORIES} == JOINERS
    assert set(HIDDEN_IN_LINES.sub("", everything)) - shown == {"\n"}


def test_nothing_that_can_be_seen_counts() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert {unicodedata.category(c) for c in HIDDEN.findall(everything)} <= CATEGORIES | {"Cn"}
