"""No input crashes or hangs a reader; each gives what could be read and says what could not."""

from __future__ import annotations

import gzip
import os
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.readers import Limits, read, sniff

LINE = (
    b" iteration      10/    1000 | elapsed time per iteration (ms): 1500.0 | lm loss: 2.500000E+00 | "
    b"grad norm: 0.300 | number of skipped iterations:   0 |\n"
)
HF = (
    b" 10%|#         | 10/100 [00:10<01:30,  1.00it/s]\r\n"
    b"{'loss': 1.5, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
)
STATE = (
    b'{"global_step": 20, "log_history": [{"loss": 1.0, "step": 10}, {"loss": NaN, "grad_norm": Infinity, "step": 20}]}'
)


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, word in (
        (tmp_path / "pipe", "regular"),
        (tmp_path, "directory"),
        (tmp_path / "none", "opened"),
        ("a\0b", "opened"),
    ):
        record = read(path)
        assert record.read.format == "unreadable"
        assert word in record.not_understood[0]


def test_empty_and_binary():
    assert read(b"").not_understood == ("input is empty",)
    for content in (pickle.dumps({"a": 1}), b"\x00\x01\x02" * 100, b"PK\x03\x04abc", os.urandom(4096), b"\0" * 5000):
        record = read(content)
        assert record.read.format == "binary"
        assert "binary" in record.not_understood[0]
        assert record.events == ()


def test_gzip_whole_cut_damaged_and_bomb(tmp_path):
    packed = gzip.compress(LINE * 100)
    assert read(packed).read.records == 100
    cut = read(gzip.compress(os.urandom(30_000).hex().encode() + b"\n" + LINE * 9)[:-4000])
    assert any("gzip" in why for why in cut.not_understood)
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=9) as out:
        out.write(b"filler\n" * (1 << 20))
    record = read(path, limits=Limits(unsuspected_bytes=1 << 20))
    assert record.read.lines < 1 << 20
    assert read(path).read.lines == 1 << 20
    assert any("suspiciously large" in why for why in record.not_understood)
    assert len(record.events) <= 200
    small = read(packed, limits=Limits(inflated_bytes=1000))
    assert any("stopped after" in why for why in small.not_understood)


def test_endless_line_and_endless_progress_bar():
    record = read(b"x" * (5 << 20) + b"\n" + LINE)
    assert record.read.records == 1
    assert any("line 1 is longer" in why for why in record.not_understood)
    frames = b"\r".join(b" 10%%|#   | %d/100000 [00:10<00:20, 2.00it/s]" % step for step in range(60_000))
    bar = read(frames + b"\n{'loss': 1.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n")
    assert bar.not_understood == ()
    assert bar.series[0].steps.tolist() == [59_999]
    assert bar.series[0].lines is not None
    assert bar.series[0].lines.tolist() == [2]


def test_utf16_of_powershell_and_nul_holes():
    assert read((HF * 3).decode().encode("utf-16")).read.records == 3
    assert read(LINE + b"\0" * 10_000 + LINE).read.records == 2
    assert read(b"\xef\xbb\xbf" + STATE).read.format == "trainer_state"


def test_events_are_bounded_and_keep_first_and_last():
    lines = b"".join(b"ERROR number %d\n" % number for number in range(10_000))
    record = read(lines + b"ordinary\n" * 1000)
    texts = [event.text for event in record.events]
    assert len(texts) <= 2_200
    assert texts[0] == "ERROR number 0"
    assert "ERROR number 9999" in texts
    assert texts[-1] == "ordinary"
    assert any("left out" in why for why in record.not_understood)


@pytest.mark.parametrize(
    "word", ["CUDA out of memory", "RuntimeError: x", "loss is nan", "Xid 79", "No space left", "Timed out"]
)
def test_lines_of_trouble_are_kept_wherever_they_stand(word):
    record = read(b"calm\n" * 3000 + word.encode() + b"\n" + b"calm\n" * 3000)
    assert (3001, word) in [(event.line, event.text) for event in record.events]
    calm = read(b"finance department, information desk\n" + b"calm\n" * 3000)
    assert 1 not in [event.line for event in calm.events]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000))
def test_random_bytes(content):
    record = read(content)
    packed = content[:2] in {b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"} or content[:4] == b"\x28\xb5\x2f\xfd"
    assert packed or record.read.format == sniff(content) or record.read.format in {"megatron", "hf_console"}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [LINE, HF, STATE, b"Traceback (most recent call last):\n", b"\x1b[31m", b"\0", b"\r", b"|", b"{'"]
        ),
        max_size=8,
    ),
    st.integers(0, 1500),
    st.lists(st.tuples(st.integers(0, 1500), st.binary(min_size=1, max_size=3)), max_size=4),
)
def test_truncated_and_damaged_logs(parts, length, damages):
    content = bytearray(b"".join(parts)[:length])
    for place, damage in damages:
        content[place : place + len(damage)] = damage
    record = read(bytes(content))
    for one in record.series:
        assert len(one.steps) == len(one.values) > 0


@pytest.mark.parametrize(
    ("content", "format_"),
    [
        (b"==============NVSMI LOG============== GPU 00000000:07:00.0 Utilization\n", "nvidia_smi_q"),
        (b"JobID|State|ExitCode\n", "sacct"),
    ],
)
def test_a_file_that_yields_nothing_says_so(content, format_):
    record = read(content)
    assert record.read.format == format_
    assert record.not_understood


def test_empty_lines_and_long_words_take_time_in_proportion():
    """Both were quadratic: hours for 64 KiB of empty lines, and for a long word after the head of a job."""
    assert read(b"\n" * (1 << 16) + LINE).read.records == 1
    assert read(b"JobId=1 JobName=a JobState=FAILED\n" + b"a" * (1 << 18)).read.format == "scontrol"
