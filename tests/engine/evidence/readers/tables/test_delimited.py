from __future__ import annotations

import math
from io import BytesIO

import pytest

from engine.evidence.readers import read, sniff
from engine.evidence.readers.lines import Limits
from engine.evidence.readers.tables.delimited import read_delimited


def test_sparse_rows_of_lightning(column):
    content = (
        b"epoch,step,train_loss_epoch,train_loss_step,val_loss\n0,49,,7.5,\n0,99,,7.25,\n0,100,,,6.5\n0,100,7.3,,\n"
        b"1,149,,6.0,\n1,199,,5.5,\n"
    )
    assert sniff(content) == "table"
    record = read(content, "version_0/metrics.csv")
    assert column(record, "loss") == [(49, 7.5), (99, 7.25), (149, 6.0), (199, 5.5)]
    assert column(record, "eval_loss") == [(100, 6.5)]
    assert column(record, "train_loss_epoch") == [(100, 7.3)]
    assert next(one for one in record.series if one.name == "loss").source(0).where == "version_0/metrics.csv:2"
    assert record.not_understood == ()


def test_keras_counts_epochs_and_marks_gaps(column):
    content = b"epoch,accuracy,loss,val_loss\n" + b"".join(
        b"%d,0.5,%f,%s\n" % (n, 2.0 / (n + 1), b"1.5" if n % 2 else b"NA") for n in range(8)
    )
    record = read(content)
    assert [step for step, _ in column(record, "loss")] == list(range(8))
    assert column(record, "eval_loss") == [(n, 1.5) for n in (1, 3, 5, 7)]


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"\xef\xbb\xbfstep;loss;lr\n1;2,25;0,1\n2;1.234,5;0,1\n3;nan;0,1\n", [2.25, 1234.5, math.nan]),
        (b"step\tloss\n1\t2,25\n2\t1,5\n3\tNaN\n", [2.25, 1.5, math.nan]),
        (b'"step","loss"\r\n"1","2.25"\r\n"2","1,234.5"\r\n"3","-inf"\r\n', [2.25, 1234.5, -math.inf]),
        (b"Iteration, Training Loss\n1, 2.25\n2, 1.5\n3, Infinity\n", [2.25, 1.5, math.inf]),
        (b"n;loss\n1;1,234\n2;2,345\n3;9,999\n", [1234.0, 2345.0, 9999.0]),
    ],
)
def test_separators_quotes_and_numbers(content, values, column):
    found = column(read(content), "loss")
    assert [step for step, _ in found] == [1, 2, 3]
    assert [value for _, value in found] == pytest.approx(values, nan_ok=True)


def test_units_and_repeated_names(column):
    record = read(b"step,step time (ms),loss,loss\n1,500,2,3\n2,250,2,3\n3,250,2,3\n")
    assert column(record, "step_time")[0] == (1, 0.5)
    assert [one.values[0] for one in record.series if one.name.startswith("loss")] == [2.0, 3.0]


def test_which_column_counts(column):
    rising = read(b"sample,loss,noise\n" + b"".join(b"%d,2.0,%d\n" % (n * 7, n % 3) for n in range(1, 9)))
    assert column(rising, "loss")[0] == (7, 2.0)
    timed = read(b"timestamp,loss\n2026-01-01T00:00:00,2\n2026-01-01T00:00:30,1.5\n2026-01-01 00:01:00,1\n")
    assert column(timed, "loss")[1][0] - column(timed, "loss")[0][0] == 30
    assert any("a time" in why for why in timed.not_understood)
    counted = read(b"loss,grad_norm\n2.5,0.5\n1.5,0.25\n1.25,0.5\n")
    assert [step for step, _ in column(counted, "loss")] == [1, 2, 3]
    assert any("counted" in why for why in counted.not_understood)


def test_steps_that_start_anew_in_each_epoch(column):
    rows = b"".join(b"%d,%d,2.0\n" % (epoch, step) for epoch in range(3) for step in range(0, 50, 10))
    record = read(b"epoch,step,loss\n" + rows)
    assert [step for step, _ in column(record, "loss")] == list(range(0, 150, 10))
    assert len(record.segments) == 1
    runs = read(b"epoch,step,loss\n" + rows[: len(rows) // 3] * 2)
    assert [segment.reason for segment in runs.segments] == ["start", "restarted"]


def test_step_time_from_the_times_of_rows(column):
    rows = b"".join(b"%d,%.2f,2.0\n" % (n * 10, 1.7e9 + n * 5.25) for n in range(1, 20))
    record = read(b"step,wall_time,loss\n" + rows)
    assert column(record, "step_time")[0] == (20, pytest.approx(0.525))
    measured = read(b"step,wall_time,loss,step_time\n" + rows.replace(b",2.0", b",2.0,9"))
    assert column(measured, "step_time")[0] == (10, 9.0)
    coarse = read(b"step,wall_time,loss\n" + b"".join(b"%d,%d,2.0\n" % (n, 1_700_000_000 + n) for n in range(20)))
    assert "step_time" not in {one.name for one in coarse.series}


def test_single_pauses_are_no_slow_steps(column):
    def table(pauses):
        times = [1.7e9 + n * 5.25 + sum(60 for pause in pauses if pause <= n) for n in range(1, 60)]
        return b"step,wall_time,loss\n" + b"".join(b"%d,%.2f,2\n" % (n * 10, time) for n, time in enumerate(times, 1))

    record = read(table([20, 40]))
    assert all(value == pytest.approx(0.525) for _, value in column(record, "step_time"))
    assert 200 not in [step for step, _ in column(record, "step_time")]
    assert any("the longest took 65.2 s and ended at step 200" in why for why in record.not_understood)
    slower = read(table(range(30, 60)))
    assert column(slower, "step_time")[-1] == (590, pytest.approx(6.525))
    assert slower.not_understood == ()


def test_a_metric_that_is_not_taken_in_every_row(column):
    rows = b"".join(b"%d,2.0,%s\n" % (n, b"1.5" if n % 5 == 0 else b"nan") for n in range(1, 31))
    record = read(b"step,loss,val_loss\n" + rows)
    assert column(record, "eval_loss") == [(n, 1.5) for n in range(5, 31, 5)]
    assert any("not measured" in why for why in record.not_understood)
    dead = read(b"step,loss,val_loss\n" + rows.replace(b"1.5", b"nan"))
    assert len(column(dead, "eval_loss")) == 30


def test_exports_of_trackers(column):
    wandb = b'"Step","fast-1 - train/loss","fast-1 - train/loss__MIN","fast-1 - train/loss__MAX"\n"10","2.5","2","3"\n'
    record = read(wandb * 1 + b'"20","2.25","2","3"\n')
    assert column(record, "loss") == [(10, 2.5), (20, 2.25)]
    assert len(record.series) == 1
    board = read(b"Wall time,Step,Value\n1700000000.5,10,2.5\n1700000005.5,20,2.25\n", "run-a-tag-train_loss.csv")
    assert column(board, "loss") == [(10, 2.5), (20, 2.25)]
    long = read(b"step,metric,value\n10,loss,2.5\n10,grad_norm,0.5\n20,loss,nan\n")
    assert column(long, "grad_norm") == [(10, 0.5)]
    assert math.isnan(column(long, "loss")[1][1])


def test_ragged_appended_and_broken_rows(column):
    content = b"step,loss,lr\n1,2.5\n2,2.0,0.1,9\nstep,loss,lr\n"
    content += b"".join(b"%d,1.5,0.1\n" % n for n in range(3, 12))
    record = read(content)
    assert column(record, "loss") == [(1, 2.5), (2, 2.0), *((n, 1.5) for n in range(3, 12))]
    assert "2 rows have more or fewer cells than the header" in record.not_understood
    open_quote = b"step,loss\n" + b"".join(b"%d,2.5\n" % n for n in range(1, 40)) + b'40,"' + b"x\n" * 200_000
    broken = read(open_quote)
    assert len(column(broken, "loss")) == 39
    assert any("cannot be read" in why for why in broken.not_understood)


@pytest.mark.parametrize(
    "content",
    [
        b"Dear all,\nthe loss, as you see, is 3\nand stays\n",
        b"loss,lr\n",
        b"name,city\nA,B\nC,D\n",
        b"1,2\n3,4\n",
        b"step 10, loss 2.5\nstep 20, loss 2.4\n",
    ],
)
def test_what_is_no_table(content):
    assert sniff(content) != "table"


def test_a_header_beyond_what_a_cell_may_hold_is_said():
    record = read_delimited(BytesIO(b"a" * 200_000 + b",loss\n1,2\n"), "wide.csv", Limits())
    assert any("line 1 cannot be read as the header" in note for note in record.not_understood)
