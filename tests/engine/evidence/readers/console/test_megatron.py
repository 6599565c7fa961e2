from __future__ import annotations

import math

import pytest

from engine.evidence.readers import read, sniff


def log(*lines: str) -> bytes:
    return "\n".join(lines).encode() + b"\n"


def test_names_units_lines_and_end(megatron_line, column):
    record = read(
        log(
            "time (ms)",
            megatron_line(10, 2.5),
            "time (ms)",
            megatron_line(20, 2.25),
            "[exiting program after 1190.0 minutes] datetime: x",
        ),
        "train.log",
    )
    assert record.read.format == "megatron"
    assert (record.read.records, record.read.lines) == (2, 5)
    assert column(record, "loss") == [(10, 2.5), (20, 2.25)]
    assert column(record, "step_time") == [(10, pytest.approx(1.503)), (20, pytest.approx(1.506))]
    assert column(record, "global_batch") == [(10, 8), (20, 8)]
    loss = next(one for one in record.series if one.name == "loss")
    assert loss.source(1).where == "train.log:4"
    assert record.config["train_iters"] == 1000
    assert record.end.kind == "stopped"
    assert record.end.source.where == "train.log:5"


def test_missing_loss_marks_skipped_steps(megatron_line, column):
    record = read(log(megatron_line(10), megatron_line(20), megatron_line(30, None, scale=16384.0), megatron_line(40)))
    assert [step for step, _ in column(record, "loss")] == [10, 20, 40]
    assert column(record, "skipped_steps") == [(10, 0), (20, 0), (30, 10), (40, 0)]
    assert column(record, "loss_scale")[2] == (30, 16384)


def test_not_available_values_are_left_out_and_said(megatron_line):
    record = read(log(*(megatron_line(step, scale=-1.0, norm="0.000") for step in (10, 20))))
    assert {one.name for one in record.series}.isdisjoint({"grad_norm", "loss_scale"})
    assert any("grad norm" in why for why in record.not_understood)
    kept = read(log(megatron_line(10, norm="0.000"), megatron_line(20)))
    assert "grad_norm" in {one.name for one in kept.series}


def test_nan_and_seconds_and_other_order(column):
    line = (
        "[2026-05-24 05:50:35.9] iteration 7/ 9 | lm loss: nan | grad norm: inf | "
        "elapsed time per iteration (s): 105.16 | tokens/sec/GPU: 9,982 |"
    )
    record = read(log(line))
    assert math.isnan(column(record, "loss")[0][1])
    assert math.isinf(column(record, "grad_norm")[0][1])
    assert column(record, "step_time") == [(7, 105.16)]
    assert column(record, "tokens_per_second") == [(7, 9982)]


def test_validation_and_saved_checkpoints(megatron_line, column):
    lines = []
    for step in range(100, 500, 100):
        lines += [
            megatron_line(step),
            "-" * 30,
            f" validation loss at iteration {step} | lm loss value: {3 - step / 1000:.6E} | lm loss PPL: 1.0E+01 | ",
            f"  successfully saved checkpoint at iteration {step:7d} to /ckpt",
        ]
    record = read(log(*lines))
    assert column(record, "eval_loss") == [(step, pytest.approx(3 - step / 1000)) for step in range(100, 500, 100)]
    assert record.config["save_steps"] == 100


def test_prefixes_colours_and_cut_lines(megatron_line, column):
    whole = megatron_line(20, 2.25)
    wrapped = [whole[:150], whole[150:300], whole[300:]]
    record = read(
        log(
            "[default7]:" + megatron_line(10),
            *("3: [default7]:" + part for part in wrapped),
            "\x1b[33m[default7]:hello\x1b[0m",
        )
    )
    assert column(record, "loss") == [(10, 2.5), (20, 2.25)]
    assert len(column(record, "skipped_steps")) == 2
    assert [(event.line, event.text, event.rank) for event in record.events] == [(5, "hello", 7)]


def test_record_that_is_printed_by_every_rank_counts_once(megatron_line, column):
    lines = [f"[rank{rank}]:{megatron_line(step)}" for step in (10, 20) for rank in range(4)]
    assert [step for step, _ in column(read(log(*lines)), "loss")] == [10, 20]


def test_resume_and_second_start(megatron_line):
    steps = [10, 20, 30, 40, 50, 60, 70, 80]
    resumed = read(
        log(*map(megatron_line, steps), "loading checkpoint from /x at iteration 50", *map(megatron_line, steps[5:]))
    )
    assert [(part.reason, part.first_step) for part in resumed.segments] == [("start", 10), ("resumed", 60)]
    again = read(log(*map(megatron_line, steps), *map(megatron_line, steps)))
    assert [part.reason for part in again.segments] == ["start", "restarted"]
    told = read(log("  successfully loaded checkpoint from /x at iteration 50", *map(megatron_line, steps[5:])))
    assert [part.reason for part in told.segments] == ["resumed"]


@pytest.mark.parametrize(
    ("tail", "kind"),
    [
        (["Traceback (most recent call last):", "  File x", "RuntimeError: CUDA error"], "crashed"),
        (["Traceback (most recent call last):", "  File x", "KeyboardInterrupt"], "stopped"),
        (["slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***"], "cancelled"),
        (["RuntimeError: x", "Sending process 12 closing signal SIGTERM"], "crashed"),
        (["[after training is done] datetime: x"], "finished"),
        (["> building dataset"], "unknown"),
    ],
)
def test_how_the_run_ended(megatron_line, tail, kind):
    assert read(log(megatron_line(10), *tail)).end.kind == kind
    # what was survived does not count
    assert read(log(*tail, megatron_line(10))).end.kind == "unknown"


def test_sniff_goes_by_content(megatron_line):
    assert read(log(megatron_line(1)), "trainer_state.json").read.format == "megatron"
    assert sniff(b"hello\n") == "text"
    late = b"start-up line\n" * 20_000 + log(megatron_line(10))
    assert sniff(late[:65536]) == "text"
    assert read(late).read.format == "megatron"


def test_lines_that_only_resemble_records(megatron_line, column):
    record = read(log(megatron_line(10), " iteration of the loop is slow |", " iteration 5 done", megatron_line(20)))
    assert [step for step, _ in column(record, "loss")] == [10, 20]
    assert [event.line for event in record.events] == [2, 3]


def test_several_blocks_give_the_same_as_one(megatron_line, column):
    lines = [megatron_line(step, 3 - step / 1e5) for step in range(1, 9001)]
    record = read(log(*lines))
    assert record.read.records == 9000
    assert column(record, "loss") == [(step, float(f"{3 - step / 1e5:.6E}")) for step in range(1, 9001)]
    loss = next(one for one in record.series if one.name == "loss")
    assert loss.lines is not None
    assert loss.lines.tolist() == list(range(1, 9001))
