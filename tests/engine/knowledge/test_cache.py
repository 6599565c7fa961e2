from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from engine.knowledge import cache, load
from engine.knowledge.files import stamp_of
from engine.knowledge.load import load_knowledge
from engine.knowledge.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import SmallKb


def _entries(home: Path) -> list[Path]:
    return sorted((home / "traintriage").glob("*"))


def _forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise AssertionError("parsed, although it is cached")

    monkeypatch.setattr(load, "read_sources", refuse)


def test_the_second_load_reads_the_cache_and_gives_the_same(
    kb: SmallKb, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_knowledge(kb.root)
    (entry,) = _entries(cache_home)
    json.loads(entry.read_bytes().partition(b"\n")[2])
    _forbid_parsing(monkeypatch)
    assert load_knowledge(kb.root) == first


def test_a_change_is_seen(kb: SmallKb) -> None:
    load_knowledge(kb.root)
    kb.replace("facts/run.yaml", "Loss scale", "Scale of the loss")
    assert load_knowledge(kb.root).facts["amp.loss_scale"].title.en == "Scale of the loss"


def test_files_that_are_at_rest_are_not_read_again(kb: SmallKb, monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    first = load_knowledge(kb.root)
    monkeypatch.setattr(load, "read_files", None)
    assert load_knowledge(kb.root) == first


def test_a_change_of_the_same_size_and_time_is_seen(kb: SmallKb, monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time_ns() + 10**10
    monkeypatch.setattr(time, "time_ns", lambda: later)
    load_knowledge(kb.root)
    file = kb.root / "facts" / "run.yaml"
    before = file.stat()
    kb.replace("facts/run.yaml", "Loss scale", "Loss scope")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert load_knowledge(kb.root).facts["amp.loss_scale"].title.en == "Loss scope"


def test_files_that_just_changed_are_read(kb: SmallKb) -> None:
    assert stamp_of([kb.root]) is None


@pytest.mark.parametrize("damage", [b"", b"{}", b"garbage\n{}", b"\xff\xfe"])
def test_a_damaged_entry_is_rebuilt(kb: SmallKb, cache_home: Path, damage: bytes) -> None:
    first = load_knowledge(kb.root)
    (entry,) = _entries(cache_home)
    good = entry.read_bytes()
    entry.write_bytes(damage)
    assert load_knowledge(kb.root) == first
    assert entry.read_bytes() == good


def test_one_flipped_byte_is_noticed(kb: SmallKb, cache_home: Path) -> None:
    load_knowledge(kb.root)
    (entry,) = _entries(cache_home)
    entry.write_bytes(entry.read_bytes().replace(b"Half-precision", b"Half+precision"))
    assert load_knowledge(kb.root).causes["numerics/fp16-overflow"].title.en.startswith("Half-precision")


def test_a_folder_that_cannot_be_made_changes_nothing(
    kb: SmallKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "cache_folders", lambda: [tmp_path / "file" / "below"])
    assert load_knowledge(kb.root) == load_knowledge(kb.root)


def test_the_next_folder_is_taken_if_the_first_cannot_be_written(
    kb: SmallKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "cache_folders", lambda: [tmp_path / "file" / "x", tmp_path / "second"])
    load_knowledge(kb.root)
    assert len(list((tmp_path / "second").iterdir())) == 1


def test_a_folder_that_others_can_write_is_not_believed(
    kb: SmallKb, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cache_home / "traintriage"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    monkeypatch.setattr(cache, "cache_folders", lambda: [folder])
    load_knowledge(kb.root)
    assert _entries(cache_home) == []


def test_without_cache_nothing_is_written(kb: SmallKb, cache_home: Path) -> None:
    load_knowledge(kb.root, use_cache=False)
    assert not cache_home.exists()


def test_old_entries_are_forgotten(kb: SmallKb, cache_home: Path) -> None:
    for number in range(cache.KEPT_FILES + 3):
        kb.append("kb.yaml", f"# {number}\n")
        load_knowledge(kb.root)
    assert len(_entries(cache_home)) == cache.KEPT_FILES


def test_other_code_has_another_entry(kb: SmallKb, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_knowledge(kb.root)
    monkeypatch.setattr(cache, "code_digest", lambda: "another version")
    load_knowledge(kb.root)
    assert len(_entries(cache_home)) == 2


@pytest.mark.usefixtures("cache_home")
def test_what_was_worked_out_once_is_kept_under_its_kind_and_digest() -> None:
    made = iter(range(10))
    assert cache.kept("text", "digest", lambda: {"n": next(made)}) == {"n": 0}
    assert cache.kept("text", "digest", lambda: {"n": next(made)}) == {"n": 0}
    assert cache.kept("text", "another", lambda: {"n": next(made)}) == {"n": 1}
    assert cache.kept("words", "digest", lambda: {"n": next(made)}) == {"n": 2}


def test_the_first_answer_is_the_same_as_the_kept_one(cache_home: Path) -> None:
    """Plain data on both ways: a tuple is a list already the first time."""
    assert cache.kept("text", "digest", lambda: {"pair": (1, 2)}) == {"pair": [1, 2]}
    (entry,) = _entries(cache_home)
    entry.write_bytes(b"damaged")
    assert cache.kept("text", "digest", lambda: {"pair": (3, 4)}) == {"pair": [3, 4]}


@pytest.mark.usefixtures("cache_home")
def test_another_version_of_the_code_does_not_see_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.kept("text", "digest", lambda: 1) == 1
    monkeypatch.setattr(cache, "code_digest", lambda: "another")
    assert cache.kept("text", "digest", lambda: 2) == 2


@pytest.mark.usefixtures("cache_home")
def test_a_large_table_of_texts_is_looked_up_and_not_parsed() -> None:
    texts = {f"word {n}": f"text {n}" for n in range(1000)}
    kept = cache.kept("text", "d1", lambda: {"small": {"a": "b"}, "deep": {"texts": texts}})
    assert isinstance(kept["deep"]["texts"], Table)
    assert kept == {"small": {"a": "b"}, "deep": {"texts": texts}}
