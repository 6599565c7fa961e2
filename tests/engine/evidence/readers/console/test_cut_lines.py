from __future__ import annotations

from engine.evidence.readers import read
from engine.evidence.readers.console.cut_lines import whole_lines


def test_pieces_are_joined_even_inside_the_prefix():
    lines = [b"%d: [default%d]:ok %d" % (node, node, at) for at in range(5) for node in (0, 1)]
    lines += [b"0: [d", b"1: [default1]:fine", b"0: efault0]:CUDA out of ", b"0: memory", b"1: [default1]:end"]
    numbers, whole = whole_lines(range(1, 16), lines)
    assert list(numbers) == [*range(1, 13), 15]
    assert whole[10:] == [b"0: [default0]:CUDA out of memory", b"1: [default1]:fine", b"1: [default1]:end"]


def test_labels_without_the_prefix_of_torchrun_are_left_alone():
    lines = [b"0: one", b"1: two", b"plain"]
    assert whole_lines(range(1, 4), lines) == (range(1, 4), lines)


def test_records_and_ranks_of_cut_lines(megatron_line, column):
    record_line = f"3: [default7]:{megatron_line(20, 2.25)}"
    lines = [f"3: [default7]:{megatron_line(10)}", record_line[:90], "3: " + record_line[90:]]
    lines += [f"3: [default7]:text {at}" for at in range(9)]
    record = read("\n".join(lines).encode())
    assert column(record, "loss") == [(10, 2.5), (20, 2.25)]
    assert {event.rank for event in record.events} == {7}
