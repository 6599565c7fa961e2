from __future__ import annotations

import pickle

import pytest

from engine.knowledge.shelf import Shelf
from engine.knowledge.table import Table


def _shelf(read=int) -> Shelf[int]:
    lines = Table.lines_of({f"id.{n:03}": str(n) for n in range(200)})
    assert lines is not None
    return Shelf(Table(lines), read)


def test_an_object_is_made_once_and_only_if_asked_for() -> None:
    made = []
    shelf = _shelf(lambda text: made.append(text) or int(text))
    assert "id.007" in shelf
    assert not made
    assert shelf["id.007"] is shelf["id.007"]
    assert made == ["7"]


def test_it_is_the_mapping_of_all_objects_in_order_of_their_ids() -> None:
    shelf = _shelf()
    assert shelf["id.007"] == 7
    assert dict(shelf) == {f"id.{n:03}": n for n in range(200)}
    assert len(shelf) == 200
    assert shelf == _shelf()


def test_what_it_does_not_hold_is_not_found() -> None:
    with pytest.raises(KeyError):
        _shelf()["id.200"]


def test_it_can_be_passed_to_another_process() -> None:
    shelf = _shelf()
    assert shelf["id.001"] == 1
    assert pickle.loads(pickle.dumps(shelf)) == shelf
