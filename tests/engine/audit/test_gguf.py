"""GGUF headers: sound ones are read, broken and hostile ones are named within bounds."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.folder import Folder
from engine.audit.gguf import GgufHeader, read_gguf
from tests.engine.audit.build.gguf import gguf_bytes

TENSORS = {"token_embd.weight": (0, (32, 4)), "output.weight": (8, (32, 2))}


def header_of(folder: Path, content: bytes) -> GgufHeader:
    (folder / "a.gguf").write_bytes(content)
    return read_gguf(Folder.of(folder), "a.gguf")


def test_a_sound_header_gives_fields_and_tensors(tmp_path: Path) -> None:
    found = header_of(tmp_path, gguf_bytes(TENSORS))
    assert (found.version, found.faults, found.newer) == (3, (), "")
    assert found.fields == {"general.architecture": "llama", "llama.block_count": 1}
    assert found.lengths == {"tokenizer.ggml.tokens": 2}
    embedding, output = found.tensors
    assert (embedding.dtype, embedding.shape, embedding.nbytes) == ("F32", (4, 32), 512)
    assert (output.dtype, output.shape, output.nbytes) == ("Q8_0", (2, 32), 68)
    assert output.offset == embedding.offset + 512
    assert embedding.offset % 32 == 0


@pytest.mark.parametrize(
    ("at", "bytes_", "where"),
    [
        (0, b"GGML", "bytes 0-4"),
        (4, struct.pack("<I", 1), "bytes 4-8"),
        (8, struct.pack("<Q", 1 << 60), "byte 8"),
        (16, struct.pack("<Q", 1 << 60), "byte 16"),
        (24, struct.pack("<Q", 1 << 60), "byte 24"),
    ],
)
def test_what_breaks_the_layout_is_named(at: int, bytes_: bytes, where: str, tmp_path: Path) -> None:
    content = gguf_bytes(TENSORS)
    found = header_of(tmp_path, content[:at] + bytes_ + content[at + len(bytes_) :])
    assert [fault.at for fault in found.faults] == [where]


@pytest.mark.parametrize("version", [4, 3 << 24])
def test_a_version_nobody_knows_here_is_no_fault(version: int, tmp_path: Path) -> None:
    found = header_of(tmp_path, gguf_bytes(TENSORS, version=version))
    assert found.faults == ()
    assert found.newer


def test_a_tensor_type_nobody_knows_here_is_no_fault(tmp_path: Path) -> None:
    found = header_of(tmp_path, gguf_bytes({"a": (99, (32, 2))}))
    assert found.faults == ()
    assert "99" in found.newer


def test_rows_that_fill_no_block_are_a_fault(tmp_path: Path) -> None:
    found = header_of(tmp_path, gguf_bytes({"a": (8, (33, 2))}))
    assert [(fault.at, fault.expected) for fault in found.faults] == [("a", "a multiple of 32 for Q8_0")]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@given(st.data())
def test_changed_and_cut_files_never_raise_and_no_tensor_leaves_the_file(scratch: Path, data: st.DataObject) -> None:
    content = bytearray(gguf_bytes(TENSORS))
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    found = header_of(scratch, cut)
    assert all(tensor.offset + tensor.nbytes <= len(cut) for tensor in found.tensors)
