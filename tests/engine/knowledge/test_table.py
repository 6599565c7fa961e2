from __future__ import annotations

from engine.knowledge.table import Table

TEXTS = {word * n: f"{word} {n}" for word in ("a", "ab", "loss", "显存", "é", "z:", "b") for n in range(1, 20)}


def _table(texts: dict[str, str]) -> Table:
    lines = Table.lines_of(texts)
    assert lines is not None
    return Table(lines)


def test_a_table_is_the_mapping_it_was_made_of() -> None:
    table = _table(TEXTS)
    assert dict(table) == TEXTS
    assert len(table) == len(TEXTS)
    assert list(table) == sorted(TEXTS, key=str.encode)


def test_what_it_does_not_hold_is_not_found() -> None:
    table = _table(TEXTS)
    for word in ("", "aaaaaaaaaaaaaaaaaaaaa", "abc", "显", "zz", "\ud800", "\x00", "a 1", "loss\tloss 1"):
        assert word not in table
        assert table.get(word) is None


def test_an_empty_table_holds_nothing() -> None:
    assert "a" not in _table({})
    assert not _table({})


def test_a_text_over_lines_makes_no_table() -> None:
    assert Table.lines_of({"a": "b\nc"}) is None
    assert Table.lines_of({"a\tb": "c"}) is None
