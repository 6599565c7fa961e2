"""Every format and every grammar, damaged in every way: a record with content or a reason, never an exception."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.evidence.inputs import EvidenceFile
from engine.evidence.readers import FORMATS, Limits, read, sniff
from engine.evidence.readers.console.reader import read_console
from engine.evidence.series import RunRecord
from engine.model.case import Case
from tests.effort import effort
from tests.robustness.damage import damaged
from tests.robustness.valid import CONSOLES, FILES

LIMITS = Limits(json_bytes=1 << 19, line_bytes=1 << 14, inflated_bytes=1 << 20, unsuspected_bytes=1 << 18)
READERS = {one.id: one.read for one in FORMATS}
# formats that are told apart, or given their rank, by where a file lies
LABELS = {
    "mlflow_metric": "mlruns/0/1f2e/metrics/loss",
    "mlflow_run": "mlruns/0/1f2e/meta.yaml",
    "single_value": "mlruns/0/1f2e/params/learning_rate",
    "flight_recorder": "nccl_dump_3",
}
ALL = FILES | CONSOLES
FEW = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
MANY = settings(FEW, max_examples=effort(40, 600))


def hold(record: RunRecord) -> None:
    """What holds of every record, whatever was read."""
    for one in record.series:
        assert len(one) > 0
        assert one.steps.dtype == one.values.dtype == np.float64
        one.source(len(one) - 1)
    said = (record.read.records, record.series, record.events, record.config, record.readings, record.evaluation)
    assert any(said) or record.not_understood, "neither content nor a reason"
    assert all(isinstance(why, str) and why for why in record.not_understood)


def check(name: str, content: bytes) -> None:
    """As a file of any kind, and as a file of its own kind (damage to the head hides what it was)."""
    label = LABELS.get(name, name)
    hold(read(content, label, LIMITS))
    own = READERS.get(name)
    assert isinstance((own or read_console)(BytesIO(content), label, LIMITS), RunRecord)


def test_every_format_has_a_valid_file() -> None:
    assert FILES.keys() == {one.id for one in FORMATS}
    assert {name: sniff(content) for name, content in FILES.items()} == {name: name for name in FILES}
    assert {sniff(content) for content in CONSOLES.values()} == {"text"}


@pytest.mark.parametrize("name", ALL)
def test_valid_files_are_read(name: str) -> None:
    record = read(ALL[name], LABELS.get(name, name))
    assert (
        any((record.series, record.events, record.config, record.readings, record.evaluation)) or name == "mlflow_run"
    )


@pytest.mark.parametrize("name", ALL)
@FEW
@given(st.data())
def test_damaged_files(name: str, ends, data: st.DataObject) -> None:
    content = data.draw(damaged(ALL[name]))
    with ends():
        check(name, content)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
@MANY
@given(st.data())
def test_many_damaged_files(name: str, ends, data: st.DataObject) -> None:
    content = data.draw(damaged(ALL[name]))
    with ends():
        check(name, content)


@FEW
@given(st.lists(st.sampled_from(sorted(ALL)).flatmap(lambda name: damaged(ALL[name])), min_size=1, max_size=4))
def test_damaged_files_together(collector, ends, contents: list[bytes]) -> None:
    """Through all of the evidence: configuration, signatures, ranks, comparisons, detectors."""
    files = [EvidenceFile(f"run/rank{number}.log", data=content) for number, content in enumerate(contents)]
    with ends():
        observed = collector.collect(Case(), files)
        assert len(observed.read) == len(files)
        assert collector.collect(Case(), files).facts == observed.facts


@pytest.mark.parametrize("name", ALL)
@settings(FEW, max_examples=4)
@given(st.data())
def test_a_damaged_file_through_all_of_the_evidence(name: str, collector, ends, data: st.DataObject) -> None:
    content = data.draw(damaged(ALL[name]))
    with ends():
        collector.collect(Case(), [EvidenceFile(LABELS.get(name, name), data=content)])
