from __future__ import annotations

import json
import math

import pytest

from engine.evidence.readers import read, sniff


@pytest.mark.parametrize("wrap", [lambda lists: lists, lambda lists: {"history": lists, "params": {"epochs": 3}}])
def test_history_of_keras(wrap, column):
    content = json.dumps(wrap({"loss": [2.0, math.nan, 1.0], "val_loss": [2.5, 2.25, None]})).encode()
    assert sniff(content) == "json_document"
    record = read(content)
    assert str(column(record, "loss")) == "[(1.0, 2.0), (2.0, nan), (3.0, 1.0)]"
    assert column(record, "eval_loss") == [(1, 2.5), (2, 2.25)]
    assert any("counted" in why for why in record.not_understood)


@pytest.mark.parametrize(
    "document",
    [
        {"train_loss": [[10, 2.0], [20, 1.5]]},
        {"loss": [[1.7e9, 10, 2.0], [1.7e9, 20, 1.5]]},
        {"loss": {"steps": [10, 20], "values": [2.0, 1.5]}},
        {"step": [10, 20], "loss": [2.0, 1.5]},
        {"train": {"step": [10, 20], "loss": [2.0, 1.5]}},
        {"step": {"0": 10, "1": 20}, "loss": {"0": 2.0, "1": 1.5}},
        {"10": {"loss": 2.0, "lr": 0.1, "eval_loss": 3}, "20": {"loss": 1.5, "lr": 0.1}},
    ],
)
def test_shapes_of_documents(document, column):
    from engine.evidence.readers.tables.document import JSON_DOCUMENT

    content = json.dumps(document).encode()
    assert JSON_DOCUMENT.recognises(content) or "10" in document
    import io

    from engine.evidence.readers import Limits

    record = JSON_DOCUMENT.read(io.BytesIO(content), "x.json", Limits())
    assert column(record, "loss") == [(10, 2.0), (20, 1.5)]


def test_lists_of_different_length_are_spread(column):
    record = read(json.dumps({"loss": [2.0] * 12, "val_loss": [1.0, 2.0, 3.0]}).encode())
    assert column(record, "eval_loss") == [(4, 1.0), (8, 2.0), (12, 3.0)]


def test_scalars_downloaded_from_tensorboard(column):
    content = b"[[1700000000.5, 10, 2.5], [1700000001.5, 20, 2.25]]"
    assert column(read(content, "run-a-tag-Loss_train.json"), "loss") == [(10, 2.5), (20, 2.25)]


def test_hostile_documents():
    assert read(b'{"loss": [1, ' + b"[" * 100_000).not_understood == ("JSON is nested too deeply",)
    assert "cut short" in read(b'{"loss": [1.0, 2.0, ').not_understood[0]
    odd = read(b'{"loss": [1, "x", {}, [2]], "val_loss": [[1], [1, 2, 3, 4], ["a", "b"]], "lr": [[]]}')
    assert [one.name for one in odd.series] == ["loss"]


@pytest.mark.parametrize(
    "content",
    [
        b'{"hidden_size": 768, "betas": [0.9, 0.95]}',
        b'{"learning_rate": [1e-4, 3e-4]}',
        b'{"report": "loss is nan", "series": [{"name": "loss", "values": [1, 2]}]}',
        b"[1, 2, 3]",
    ],
)
def test_what_is_no_document_of_metrics(content):
    assert sniff(content) != "json_document"
