"""What was not judged, and why, in both languages."""

from __future__ import annotations

import re

import numpy as np

from engine.evidence.detectors import detect, messages
from engine.model.base import Text

TEXTS = {name: value for name, value in vars(messages).items() if isinstance(value, Text)}


def test_places_are_the_same_in_both_languages():
    assert len(TEXTS) > 40
    for name, text in TEXTS.items():
        assert re.findall(r"\{[^}]*\}", text.en) == re.findall(r"\{[^}]*\}", text.zh), name
        assert re.search("[\u4e00-\u9fff]", text.zh), name


def test_a_gap_says_what_to_log(one):
    loss = np.linspace(5, 3, 60)
    loss[40:43] *= 3
    found = detect([one("loss", loss)])
    whys = {gap.what.en: gap.why for gap in found.gaps}
    assert whys["gradient norm"] == messages.NO_NORM
    assert whys["end of the warm-up"] == messages.NO_RATE
    assert messages.SPIKES in found.topics
    assert not any("{" in gap.why.en + gap.why.zh for gap in found.gaps)


def test_nothing_is_missed_of_a_run_without_trouble(rng, healthy):
    gaps = {gap.what.en for gap in detect(list(healthy(rng).values())).gaps}
    assert gaps == set()
