"""Pickles are followed as the real machine would run them, and nothing of them is run."""

from __future__ import annotations

import contextlib
import io
import pickle
import pickletools
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audit.folder import Folder
from engine.audit.pickles import survey as survey_module
from engine.audit.pickles.allowed import classify
from engine.audit.pickles.machine import Reading, Use
from engine.audit.pickles.operations import follow
from engine.audit.pickles.survey import Survey, survey
from engine.audit.pickles.values import Global, named
from tests.engine.audit.build.pickled import Call, Name, Writer, hostile

_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


def reading(content: bytes) -> Reading:
    return follow(io.BufferedReader(io.BytesIO(content)), 0, len(content))  # type: ignore[arg-type]


def surveyed(root: Path) -> Survey:
    return survey(Folder.of(root))


class _Watched(pickle._Unpickler):  # type: ignore[misc,name-defined]
    """The real machine in Python, which notes what it imports and gets something harmless for it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self.names: set[Global] = set()

    def find_class(self, module: str, name: str) -> type:
        self.names.add(Global(module, name))
        return Counter

    def persistent_load(self, id_: Any) -> Any:
        return id_


def _really_imported(content: bytes) -> set[Global]:
    machine = _Watched(content)
    with contextlib.suppress(Exception):  # whatever a broken stream leads to
        machine.load()
    return machine.names


# The machine


@given(_PLAIN, st.integers(0, 5))
def test_plain_data_is_followed_at_every_protocol(value: object, protocol: int) -> None:
    content = pickle.dumps(value, protocol)
    found = reading(content)
    assert (found.fault, found.end, found.too_long) == (None, len(content), False)
    assert {classify(use) for use in found.uses.values()} <= {"plain"}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "value",
    [
        OrderedDict(a=1), defaultdict(list, a=[1]), deque([1]), Counter("ab"), {1, 2}, frozenset({3}), bytearray(b"x"),
        1j, range(3), slice(1, 2), date(2026, 1, 1), timedelta(1), Path("a/b"), np.arange(3.0), np.float64(1),
        np.dtype("<f4"), np.array([{"a": 1}], dtype=object), np.random.default_rng(1), [[]] * 3, 2**100, -1, "\ud800",
    ],
    ids=lambda value: f"{type(value).__name__}",
)  # fmt: skip
def test_common_objects_are_plain_data(value: object, protocol: int) -> None:
    content = pickle.dumps(value, protocol)
    found = reading(content)
    assert found.fault is None
    assert [use.name.path for use in found.uses.values() if classify(use) != "plain"] == []


def test_a_value_that_holds_itself_is_followed() -> None:
    value: list[object] = []
    value.append({"me": value})
    found = reading(pickle.dumps(value))
    assert found.fault is None
    assert named(found.value[0])["me"] is found.value


_STREAMS = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from([op.code.encode("latin-1") for op in pickletools.opcodes]), max_size=40).map(b"".join),
    st.lists(
        st.sampled_from([
            b"(", b"t", b"R", b"cos\nsystem\n", b"S'id'\n", b"\x8c\x02os", b"\x8c\x06system", b"\x93", b")", b"}", b"]",
            b"q\x00", b"h\x00", b"\x94", b"o", b"ios\nsystem\n", b"\x81", b"\x92", b"b", b"0", b"1", b"2", b"u", b"s",
            b"a", b"e", b"l", b"d", b"K\x01", b"N", b"\x85", b"\x86", b"\x87", b"Q", b"Px\n", b"\x8f", b"\x90", b"\x91",
            b"X\x02\x00\x00\x00os", b"V\\u006fs\n", b"S'\\x6fs'\n", b".",
        ]),
        max_size=25,
    ).map(b"".join),
)  # fmt: skip


def _hides_nothing(content: bytes) -> None:
    found = reading(content)
    assert found.fault is not None or found.too_long or _really_imported(content[: found.end]) <= set(found.uses)


@given(_STREAMS, st.sampled_from([b"", b"\x80\x02", b"\x80\x04"]))
def test_what_the_real_machine_imports_is_listed_or_the_stream_is_refused(body: bytes, start: bytes) -> None:
    _hides_nothing(start + body)
    _hides_nothing(start + body + b".")


@given(st.data(), st.integers(0, 5))
def test_a_changed_pickle_hides_no_import(data: st.DataObject, protocol: int) -> None:
    content = bytearray(pickle.dumps([OrderedDict(a=timedelta(1)), {"b": (1, 2.5, "x" * 300)}], protocol))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[at] = data.draw(st.integers(0, 255))
    _hides_nothing(bytes(content))


@pytest.mark.long
@settings(max_examples=20_000)
@given(_STREAMS, st.binary(max_size=8))
def test_what_the_real_machine_imports_is_listed_or_the_stream_is_refused_long(body: bytes, end: bytes) -> None:
    _hides_nothing(body + end + b".")


@pytest.mark.parametrize(
    ("content", "called"),
    [
        (hostile(), True),
        (b"cos\nsystem\n.", False),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", False),
        (b"(cos\nsystem\nS'id'\no.", True),
        (b"(S'id'\nios\nsystem\n.", True),
        (b"cbuiltins\nlist\ncos\nsystem\n\x85R.", True),
        (b"ccollections\nOrderedDict\n)R(cos\nsystem\nK\x01tb.", True),
        (b"cos\nsystem\n)}\x92.", True),
    ],
)
def test_a_call_is_told_from_an_import(content: bytes, called: bool) -> None:
    found = reading(content)
    use = next(use for use in found.uses.values() if use.name.name == "system")
    assert use.called is called
    assert classify(use) == "foreign"


def test_a_call_of_what_a_call_gave_is_refused() -> None:
    assert "no imported name" in (reading(b"ccollections\nOrderedDict\n)R)R.").fault or "")


@pytest.mark.parametrize("name", ["os\nsystem x", "o s\nsystem", "\\x6fs\nsystem", "os\nsys tem", "\nsystem"])
def test_an_import_of_what_is_no_name_is_refused(name: str) -> None:
    assert "no name" in (reading(f"c{name}\n.".encode()).fault or "")


def test_settings_classes_are_made_without_their_constructor_or_looked_up_only() -> None:
    name = Global("transformers.training_args", "TrainingArguments")
    assert classify(Use(name, 0, called=True)) == "training"
    assert classify(Use(name, 0, called=True, initialised=True)) == "foreign"
    assert classify(Use(name, 0, called=True, looked_up=True)) == "foreign"
    assert classify(Use(Global("transformers.trainer_utils", "SaveStrategy"), 0, True, looked_up=True)) == "training"
    assert classify(Use(Global("transformers.trainer_utils", "run"), 0)) == "foreign"
    assert classify(Use(Global("mine.settings", "Arguments"), 0)) == "foreign"


@pytest.mark.parametrize(
    "path",
    [
        "transformers.training_args.TrainingArguments", "trl.trainer.sft_config.SFTConfig", "__main__.ScriptArguments",
        "UnslothSFTTrainer.UnslothSFTConfig", "accelerate.state.PartialState", "argparse.Namespace",
        "omegaconf.dictconfig.DictConfig", "sentence_transformers.training_args.SentenceTransformerTrainingArguments",
    ],
)  # fmt: skip
def test_settings_of_trainers_are_no_foreign_code(path: str) -> None:
    module, _, name = path.rpartition(".")
    (use,) = reading(Writer().dumps(Call(Name(module, name), (), {"a": 1}, new=True))).uses.values()
    assert classify(use) == "training"
    (use,) = reading(Writer().dumps(Call(Name(module, name), ("a", "b")))).uses.values()
    assert classify(use) == "foreign"


def test_a_long_argument_is_passed_over() -> None:
    content = pickle.dumps({"data": b"x" * 1_000_000, "name": "kept"}, 4)
    found = reading(content)
    assert found.fault is None
    assert named(found.value)["data"].length == 1_000_000
    assert named(found.value)["name"] == "kept"


def test_a_length_beyond_the_end_reserves_no_memory() -> None:
    found = reading(b"\x80\x04\x8e" + (1 << 62).to_bytes(8, "little") + b"abc.")
    assert "beyond the end" in (found.fault or "")


def test_a_pickle_without_an_end_to_its_operations_is_left_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_module, "MAX_OPERATIONS", 2_000)
    (tmp_path / "a.pkl").write_bytes(b"\x80\x02" + b"N0" * 2_000 + b"N.")
    found = surveyed(tmp_path)
    assert [(fault.path, "longer than is followed" in fault.what) for fault in found.unread] == [("a.pkl", True)]
    assert found.faults == []
