from __future__ import annotations

from engine.evidence.readers import read

REPORT = """Detected inf/nan during batch_number=3
Last 21 forward frames:
abs min  abs max  metadata
                  encoder.block.2.layer.1.DenseReluDense.wo Linear
1.01e-06 6.44e+00 weight
0.00e+00 9.74e+03 input[0]
3.18e-04 {largest} output
                  encoder.block.2.layer.1.dropout Dropout
3.18e-04 {largest} input[0]
0.00e+00      {bad} output
"""


def facts(largest: str, bad: str) -> dict[str, object]:
    record = read(REPORT.format(largest=largest, bad=bad).encode(), "run.log")
    assert record.config == {
        "first_nonfinite_batch": 3,
        "first_nonfinite_module": "encoder.block.2.layer.1.dropout Dropout",
    }
    assert len(record.events) == 10
    return {reading.fact: reading.value for reading in record.readings if hasattr(reading, "fact")}


def test_the_range_of_half_precision_was_left():
    assert facts("6.27e+04", "inf") == {"activation.abs_max": 62700.0, "activation.beyond_fp16": True}


def test_nan_or_values_beyond_the_range_say_nothing_about_it():
    assert facts("6.27e+04", "nan") == {"activation.abs_max": 62700.0}
    assert facts("3.00e+30", "inf") == {"activation.abs_max": 3e30}
    assert facts("3.00e+01", "inf") == {"activation.abs_max": 9740.0, "activation.beyond_fp16": True}


def test_where_it_stands():
    record = read(REPORT.format(largest="6.27e+04", bad="inf").encode(), "run.log")
    assert [reading.source.where for reading in record.readings] == ["run.log:7", "run.log:10"]


def test_a_cut_report_names_nothing():
    record = read(b"Detected inf/nan during batch_number=3\nLast 21 forward frames:\n")
    assert record.readings == ()
    assert record.config == {"first_nonfinite_batch": 3}
