"""Pickles are found in a folder by their content, with the tensors that they describe."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.folder import Folder
from engine.audit.pickles import torch_tensors
from engine.audit.pickles.allowed import classify
from engine.audit.pickles.dcp import layout
from engine.audit.pickles.deepspeed import tags
from engine.audit.pickles.survey import Survey, survey
from tests.engine.audit.build import pickled
from tests.engine.audit.build.pickled import Call, Name, Writer, hostile, torch_zip
from tests.engine.audit.build.weights import Raw, bf16, f16, f32, save


def surveyed(root: Path) -> Survey:
    return survey(Folder.of(root))


# Files of torch.save


def _weights() -> dict[str, Raw]:
    random = np.random.default_rng(3)
    shared = bf16(random.normal(size=(6, 4)))
    return {
        "embed.weight": shared,
        "head.weight": shared,
        "norm": f32(random.normal(size=(4,))),
        "half": f16(random.normal(size=(2, 3))),
        "scalar": f32(np.array(2.0)),
        "none": f32(np.zeros((0, 3))),
    }


@pytest.mark.parametrize("write", [torch_zip, pickled.legacy], ids=["zip", "legacy"])
@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: {"epoch": 3, "state_dict": s, "name": "x"}])
def test_tensors_are_found_with_the_bytes_that_hold_them(tmp_path: Path, write: Any, wrap: Any) -> None:
    weights = _weights()
    (tmp_path / "pytorch_model.bin").write_bytes(write(wrap(pickled.state_dict(weights))))
    folder = Folder.of(tmp_path)
    found = {tensor.name: tensor for tensor in torch_tensors(folder, survey(folder))}
    content = (tmp_path / "pytorch_model.bin").read_bytes()
    assert list(found) == list(weights)
    for name, raw in weights.items():
        tensor = found[name]
        assert (tensor.dtype, tensor.shape) == (raw.dtype, raw.shape)
        assert content[tensor.offset : tensor.offset + tensor.nbytes] == raw.data
    assert found["embed.weight"].storage == found["head.weight"].storage
    assert len({tensor.storage for tensor in found.values()}) == len(weights) - 1
    assert surveyed(tmp_path).faults == []


def test_an_index_says_which_files_count_and_training_state_never_does(tmp_path: Path) -> None:
    for name in ("pytorch_model-1.bin", "old.bin", "optimizer.pt", "zero_pp_rank_0_mp_rank_00_model_states.pt"):
        pickled.save(tmp_path / name, pickled.state_dict({f"in.{name}": f32(np.ones(2))}))
    folder = Folder.of(tmp_path)
    names = [tensor.name for tensor in torch_tensors(folder, survey(folder))]
    assert names == ["in.old.bin", "in.pytorch_model-1.bin"]
    (tmp_path / "pytorch_model.bin.index.json").write_text('{"weight_map": {"x": "pytorch_model-1.bin"}}')
    folder = Folder.of(tmp_path)
    assert [tensor.name for tensor in torch_tensors(folder, survey(folder))] == ["in.pytorch_model-1.bin"]


def test_a_tensor_that_reaches_beyond_its_storage_is_a_fault(tmp_path: Path) -> None:
    writer = Writer()
    call = writer.tensor(f32(np.ones(4)))
    too_long = Call(call.callee, (call.args[0], 2, (3,), (1,), False, None))
    content = writer.dumps({"w": too_long})
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("a/data.pkl", content)
        archive.writestr("a/data/0", np.ones(4, "<f4").tobytes())
    assert [(fault.at, fault.what) for fault in surveyed(tmp_path).faults] == [("w", "reaches beyond its storage")]


def test_a_storage_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("a/data.pkl", Writer().dumps({"w": f32(np.ones(4))}))
    assert [(fault.at, fault.what) for fault in surveyed(tmp_path).faults] == [("w", "has no storage")]


def test_archives_one_after_the_other_are_told_apart(tmp_path: Path) -> None:
    parts = [torch_zip(f32(np.full(3, float(n)))) for n in range(3)]
    (tmp_path / "a.distcp").write_bytes(b"".join(parts))
    found = surveyed(tmp_path)
    assert found.faults == []
    assert [p.section for p in found.pickles] == [len(parts[0] + parts[1]), len(parts[0]), 0]


def test_what_lies_before_an_archive_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(hostile() + torch_zip({}))
    found = surveyed(tmp_path)
    assert {use.name.path for pickled in found.pickles for use in pickled.uses} == {"posix.system"}
    assert any("before the archive" in fault.what for fault in found.faults)


def test_only_torchscript_may_name_its_own_classes(tmp_path: Path) -> None:
    own = Call(Name("__torch__.mine", "Model"), (), {}, new=True)
    for name, more in (("script.pt", True), ("plain.pt", False)):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("m/data.pkl", Writer().dumps(own))
            if more:
                archive.writestr("m/constants.pkl", Writer().dumps(()))
    found = {
        p.path: {classify(use, p.scripted) for use in p.uses} for p in surveyed(tmp_path).pickles if "data" in p.at
    }
    assert found == {"script.pt": {"plain"}, "plain.pt": {"foreign"}}


# What is no pickle


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_call_behind_much_else_in_a_member_is_found(tmp_path: Path, method: int) -> None:
    long = b"B" + (1_000_000).to_bytes(4, "little") + bytes(1_000_000) + b"0"
    many = b"N0" * 100_000
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("long", long + hostile()[2:])
        archive.writestr("many", many + hostile()[2:])
    assert {pickled.at for pickled in surveyed(tmp_path).pickles if pickled.reading.calls} == {"long", "many"}


def test_other_files_are_no_pickles(tmp_path: Path) -> None:
    save(tmp_path / "a.safetensors", {f"w{n}": f32(np.ones(3)) for n in range(5)})
    texts = {
        "a.md": "# Title\n", "b.txt": "class Foo:\n    pass\n", "c.py": "import os\nos.system('id')\n", "d.json": "{}",
        "e.txt": "config\nvalue\n", "f.txt": "N.", "g.txt": "(" * 1_000, "h.csv": "1,2\n", "i.txt": "Input\n(text)\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "random").write_bytes(np.random.default_rng(0).bytes(100_000))
    found = surveyed(tmp_path)
    assert (found.faults, found.unread, [p.path for p in found.pickles]) == ([], [], ["f.txt"])


@pytest.mark.parametrize("length", [640, 896, 1152, 1408])
def test_a_safetensors_file_that_begins_like_a_pickle_is_none(tmp_path: Path, length: int) -> None:
    header = b'{"__metadata__":{"a":"' + b"x" * (length - 25) + b'"}}'
    (tmp_path / "a").write_bytes(length.to_bytes(8, "little") + header.ljust(length))
    found = surveyed(tmp_path)
    assert (found.faults, found.pickles) == ([], [])


@given(st.integers(0, 3), st.randoms(use_true_random=False))
def test_a_changed_archive_leads_to_no_error(tmp_path_factory: pytest.TempPathFactory, count: int, random: Any) -> None:
    root = tmp_path_factory.mktemp("archive")
    content = bytearray(torch_zip(pickled.state_dict(_weights())))
    for _ in range(count):
        content[random.randrange(len(content))] = random.randrange(256)
    (root / "a.bin").write_bytes(bytes(content[: random.choice([len(content), random.randrange(len(content))])]))
    folder = Folder.of(root)
    found = survey(folder)
    for tensor in torch_tensors(folder, found):
        assert 0 <= tensor.offset <= tensor.offset + tensor.nbytes <= len(content)


def test_a_member_that_unpacks_to_a_lot_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(100 << 20))
    assert ["longer than" in fault.what for fault in surveyed(tmp_path).faults] == [True]


def test_what_a_state_says_is_never_trusted_to_be_small(tmp_path: Path) -> None:
    """Numbers with thousands of digits, states that lead to themselves, names that are no texts."""
    long = b"\x8b" + (60_000).to_bytes(4, "little") + b"\x7f" * 60_000
    chain = b"ccollections\nCounter\n)R" * 2_000 + b"b" * 1_999
    own = b"ccollections\nCounter\n)Rq\x00h\x00b"
    for name, value in (("long", long), ("chain", chain), ("own", own), ("list", b"]")):
        pickles = b"}(X\x14\x00\x00\x00optimizer_state_dict}(X\x0f\x00\x00\x00partition_count" + value
        pickles += b"X\x0a\x00\x00\x00zero_stage" + value + b"uu"
        with zipfile.ZipFile(tmp_path / f"{name}.pt", "w") as archive:
            archive.writestr("a/data.pkl", b"\x80\x02" + pickles + b".")
        tag = tmp_path / name
        tag.mkdir()
        (tmp_path / f"{name}.pt").rename(tag / "zero_pp_rank_0_mp_rank_00_optim_states.pt")
        where = b"cos\nx\n)\x81}(X\x03\x00\x00\x00fqn" + value + b"X\x0d\x00\x00\x00relative_pathX\x01\x00\x00\x00a"
        where += b"X\x06\x00\x00\x00offset" + value + b"X\x06\x00\x00\x00length" + value + b"ub"
        metadata = b"ctorch.distributed.checkpoint.metadata\nMetadata\n)\x81}(X\x13\x00\x00\x00state_dict_metadata}"
        (tag / ".metadata").write_bytes(
            b"\x80\x02" + metadata + b"X\x0c\x00\x00\x00storage_data}(" + where * 2 + b"uub."
        )
    folder = Folder.of(tmp_path)
    found = survey(folder)
    assert [fault for fault in found.faults if "data.pkl" in fault.at or fault.at == ""] == []
    assert [tag.ranks for tag in tags(folder, found)] == [None] * 4
    assert {layout(pickled.value) for pickled in found.pickles if pickled.path.endswith(".metadata")} == {None}
    assert list(torch_tensors(folder, found)) == []


def test_many_archives_in_one_file_use_up_the_budget(tmp_path: Path) -> None:
    (tmp_path / "a.distcp").write_bytes((b"PK\x05\x06" + bytes(18)) * 10_000)
    found = survey(Folder.of(tmp_path), operations=2_000)
    assert [(fault.path, fault.what[:14]) for fault in found.unread] == [("a.distcp", "not looked at:")]


def test_more_files_than_are_listed_are_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12")
    listed = Folder.of(tmp_path)
    assert survey(Folder(listed.root, listed.entries, truncated=True)).unread[0].path == "."
