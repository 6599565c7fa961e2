"""Schedules that end too soon, stand still or climb back, beside those that do so on purpose."""

from __future__ import annotations

import numpy as np
import pytest

from engine.evidence.detectors import DetectContext
from engine.evidence.series import Segment


def cosine(count, low=0.0):
    return 1e-4 * (low + (1 - low) * 0.5 * (1 + np.cos(np.pi * np.arange(count) / (count - 1))))


@pytest.mark.parametrize(("ends_at", "early"), [(75, True), (150, True), (290, False)])
def test_schedule_at_its_end_too_soon(one, facts, ends_at, early):
    rate = np.concatenate([cosine(ends_at), np.zeros(300 - ends_at)])
    found = facts([one("learning_rate", rate)], DetectContext(total_steps=3000.0))
    assert found["lr.decayed_early"] is early
    if early:  # stepped 300 / ends_at times an update
        assert found["lr.schedule_speed"] == pytest.approx(300 / ends_at, rel=0.05)
    else:
        assert "lr.schedule_speed" not in found


@pytest.mark.parametrize("rate", [cosine(300), cosine(300, 0.1), np.linspace(1e-4, 0, 300), np.full(300, 1e-4)])
def test_ordinary_schedules_end_in_time(one, facts, alarms, rate):
    found = facts([one("learning_rate", rate)])
    assert alarms(found) == []
    assert found["lr.decayed_early"] is False


def test_restarts_on_purpose(one, facts, alarms):
    equal = facts([one("learning_rate", np.tile(cosine(50), 4))])
    doubling = facts([one("learning_rate", np.concatenate([cosine(20), cosine(40), cosine(80), cosine(160)]))])
    named = facts([one("learning_rate", np.tile(cosine(50), 2))], DetectContext(schedule="cosine_with_restarts"))
    for found in (equal, doubling, named):
        assert alarms(found) == []
        assert found["lr.restarted"] is False


def test_the_same_climb_at_a_resume_is_no_plan(one, facts):
    context = DetectContext(segments=(Segment("start", 0, 500), Segment("resumed", 510, 2000)))
    assert facts([one("learning_rate", np.tile(cosine(50), 4))], context)["lr.restarted"] is True
    odd = np.concatenate([cosine(100), cosine(30), cosine(90)])
    assert facts([one("learning_rate", odd)])["lr.restarted"] is True


@pytest.mark.parametrize(("schedule", "frozen"), [("cosine", True), ("linear", True), ("constant", None)])
def test_constant_rate_against_the_schedule_it_is_meant_to_follow(one, facts, schedule, frozen):
    found = facts([one("learning_rate", np.full(50, 1e-4))], DetectContext(schedule=schedule, total_steps=1000.0))
    assert found.get("lr.frozen") is frozen
