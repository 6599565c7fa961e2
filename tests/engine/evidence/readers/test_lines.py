from __future__ import annotations

import io

import pytest

from engine.evidence.readers import read
from engine.evidence.readers.lines import Limits, Notes, line_blocks


def lines_of(content: bytes, limits: Limits | None = None) -> tuple[list[tuple[int, bytes]], list[str]]:
    notes = Notes([])
    blocks = line_blocks(io.BytesIO(content), limits or Limits(), notes)
    return [pair for numbers, lines in blocks for pair in zip(numbers, lines, strict=True)], notes.texts


def test_colours_are_cut_out_of_lines_of_any_shape():
    content = b"".join(b"\x1b[31mstep: %d\x1b[0m  \x1b[38;2;180;60;0mloss: 1\x1b[39m\n" % at for at in range(100))
    content += b"plain\n\x1b[1mbold\n\x1b[?25lhidden\n\x1b[0m\nbroken \x1b[31"
    found, _ = lines_of(content)
    assert [line for _, line in found[:100]] == [b"step: %d  loss: 1" % at for at in range(100)]
    assert [line for _, line in found[100:]] == [b"plain", b"bold", b"hidden", b"", b"broken \x1b[31"]


def test_a_redrawn_line_gives_its_drawings_with_its_number():
    found, _ = lines_of(b"one\r\n\rtwo\rthree\r\nfour\n\r\rfive")
    assert [(number, line) for number, line in found if line] == [
        (1, b"one"),
        (2, b"two"),
        (2, b"three"),
        (3, b"four"),
        (4, b"five"),
    ]


@pytest.mark.parametrize("size", [1, 7, 1 << 21])
def test_numbers_go_on_over_blocks(monkeypatch, size):
    monkeypatch.setattr("engine.evidence.readers.lines.BLOCK", size)
    content = b"".join(b"\x1b[31mline\x1b[0m %d\r\n" % at for at in range(1, 60))
    found, _ = lines_of(content)
    assert [(number, line) for number, line in found if line] == [(at, b"line %d" % at) for at in range(1, 60)]


def test_the_rest_of_a_long_line_is_left_out_and_said():
    limits = Limits(line_bytes=100)
    found, notes = lines_of(b"a\n" + b"x" * 5_000_000 + b"\nb\n", limits)
    assert found[0] == (1, b"a")
    assert found[-1][1] == b"b"
    assert any("line 2 is longer" in note for note in notes)


def test_zstd_whole_damaged_and_bomb(megatron_line):
    zstandard = pytest.importorskip("zstandard")
    text = "\n".join(megatron_line(step) for step in range(1, 500)).encode()
    packed = zstandard.ZstdCompressor().compress(text)
    assert read(packed).read.records == 499
    streamed = zstandard.ZstdCompressor().compressobj()
    assert read(streamed.compress(text) + streamed.flush()).read.records == 499
    cut = read(packed[: len(packed) // 2])
    assert cut.read.records < 499
    damaged = read(packed[:200] + bytes(300) + packed[500:])
    assert any("zstd" in why for why in damaged.not_understood)
    limits = Limits(inflated_bytes=1 << 20)
    bomb = read(zstandard.ZstdCompressor().compress(b"step 1 loss 2\n" * 2_000_000), limits=limits)
    assert any("suspiciously large" in why for why in bomb.not_understood)


def test_a_cut_zstd_stream_is_told_and_what_came_before_garbage_is_kept():
    zstandard = pytest.importorskip("zstandard")
    text = b"hello world line\n" * 200_000
    packed = zstandard.compress(text)
    cut = read(packed[:-10])
    assert "is cut after" in cut.not_understood[0]
    followed = read(packed + b"garbage, no frame")
    assert "damaged" in followed.not_understood[0]
    assert min(cut.read.lines, followed.read.lines) > 190_000
    assert read(packed + packed).not_understood == ()
