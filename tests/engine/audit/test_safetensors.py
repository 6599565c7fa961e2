"""Headers: our reader refuses what the reference reader refuses, and says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError, deserialize

from engine.audit.folder import Folder
from engine.audit.safetensors import MAX_FAULTS, MAX_HEADER_BYTES, Header, read_header
from tests.engine.audit.build.weights import container

ENTRY = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
DATA = b"1234"


def header_of(folder: Path, content: bytes) -> Header:
    (folder / "a.safetensors").write_bytes(content)
    return read_header(Folder.of(folder), "a.safetensors")


def refused(content: bytes) -> bool:
    """Whether the reference reader refuses the file."""
    try:
        deserialize(content)
    except SafetensorError:
        return True
    return False


def entry(**changes: Any) -> bytes:
    return json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} | changes}).encode()


def nested(depth: int) -> bytes:
    return entry().replace(b'"shape"', b'"x": ' + b"[" * depth + b"]" * depth + b', "shape"')


FIELD_NAMES = (
    b'{"dtype":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"shape":{"dtype":"U8","shape":[1],'
    b'"data_offsets":[1,2]},"data_offsets":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}'
)


# Header, data, the fault we name (None: sound).
FILES: dict[str, tuple[bytes, bytes, str | None]] = {
    "plain": (f"{{{ENTRY}}}".encode(), DATA, None),
    "padded": (f"{{{ENTRY}}}   ".encode(), DATA, None),
    "leading space": (f" {{{ENTRY}}}".encode(), DATA, "whitespace"),
    "leading tab": (f"\t{{{ENTRY}}}".encode(), DATA, "whitespace"),
    "trailing line end": (f"{{{ENTRY}}}\n".encode(), DATA, "whitespace"),
    "trailing NUL": (f"{{{ENTRY}}}\0".encode(), DATA, "json"),
    "byte order mark": (b"\xef\xbb\xbf" + f"{{{ENTRY}}}".encode(), DATA, "json"),
    "no UTF-8": (f"{{{ENTRY}}}".encode().replace(b'"a"', b'"\xff"'), DATA, "json"),
    "a list": (b"[]", b"", "json"),
    "empty": (b"", b"", "json"),
    "no tensors": (b"{}", b"", None),
    "name twice": (f"{{{ENTRY},{ENTRY}}}".encode(), DATA, "duplicate"),
    "field twice": (entry().replace(b'"shape"', b'"dtype": "F32", "shape"'), DATA, "json"),
    "other field twice": (entry().replace(b'"shape"', b'"x": 1, "x": 2, "shape"'), DATA, None),
    "other field": (entry(more={"x": [1]}), DATA, None),
    "other field, deep": (nested(125), DATA, None),
    "other field, too deep": (nested(126), DATA, "json"),
    "other field, not finite": (entry(x=float("nan")), DATA, "json"),
    "other field, out of range": (entry().replace(b'"shape"', b'"x": 1e999, "shape"'), DATA, "json"),
    "other field, out of range for whole numbers": (entry(x=10**400), DATA, "json"),
    "half a surrogate pair": (entry().replace(b'"a"', b'"a\\ud800"'), DATA, "json"),
    "a surrogate pair": (entry().replace(b'"a"', b'"a\\ud83d\\ude00"'), DATA, None),
    "a backslash before u": (entry().replace(b'"a"', b'"a\\\\ud800"'), DATA, None),
    "control character": (entry().replace(b'"a"', b'"a\x01"'), DATA, "json"),
    "path as a name": (entry().replace(b'"a"', b'"../../etc"'), DATA, None),
    "no name": (entry().replace(b'"a"', b'""'), DATA, None),
    "unknown dtype": (entry(dtype="F31"), DATA, "json"),
    "dtype in lower case": (entry(dtype="f32"), DATA, "json"),
    "float in shape": (entry(shape=[1.0]), DATA, "json"),
    "minus zero": (entry().replace(b"[0, 4]", b"[-0, 4]"), DATA, "json"),
    "negative": (entry(shape=[-1]), DATA, "json"),
    "true": (entry(shape=[True]), DATA, "json"),
    "null": (b'{"a":null}', b"", "json"),
    "no shape": (b'{"a":{"dtype":"F32","data_offsets":[0,4]}}', DATA, "json"),
    "three offsets": (entry(data_offsets=[0, 4, 4]), DATA, "json"),
    "offset beyond 64 bits": (entry(data_offsets=[2**64, 2**64 + 4]), DATA, "json"),
    "scalar": (entry(shape=[]), DATA, None),
    "no elements": (entry(shape=[0], data_offsets=[0, 0]), b"", None),
    "overflow before a zero": (entry(shape=[2**40, 2**40, 0], data_offsets=[0, 0]), b"", "extent"),
    "overflow": (entry(dtype="U8", shape=[2**64 - 1]), DATA, "extent"),
    "too few bytes": (entry(shape=[2]), DATA, "extent"),
    "backwards": (entry(data_offsets=[4, 0]), DATA, "extent"),
    "half a byte": (entry(dtype="F4", shape=[3], data_offsets=[0, 1]), b"1", "extent"),
    "two halves": (entry(dtype="F4", shape=[2], data_offsets=[0, 1]), b"1", None),
    "hole": (entry(data_offsets=[4, 8]), DATA * 2, "contiguous"),
    "overlap": (f'{{{ENTRY},{ENTRY.replace("a", "b", 1)}}}'.encode(), DATA, "contiguous"),
    "empty tensor inside": (
        f'{{{ENTRY},"b":{{"dtype":"F32","shape":[0],"data_offsets":[2,2]}}}}'.encode(), DATA, "contiguous",
    ),
    "a byte less": (entry(), DATA[:3], "file_length"),
    "a byte more": (entry(), DATA + b"5", "file_length"),
    "metadata": (f'{{"__metadata__":{{"format":"pt"}},{ENTRY}}}'.encode(), DATA, None),
    "metadata null": (f'{{"__metadata__":null,{ENTRY}}}'.encode(), DATA, None),
    "metadata number": (f'{{"__metadata__":{{"n":1}},{ENTRY}}}'.encode(), DATA, "json"),
    "metadata list": (f'{{"__metadata__":[],{ENTRY}}}'.encode(), DATA, "json"),
    "metadata twice": (f'{{"__metadata__":{{}},"__metadata__":{{}},{ENTRY}}}'.encode(), DATA, "json"),
    "metadata named like a tensor": (
        f'{{"__metadata__":{{"dtype":"x","shape":"y","data_offsets":"z"}},{ENTRY}}}'.encode(), DATA, None,
    ),
    "tensors named like fields": (FIELD_NAMES, b"123", None),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_faults_are_named_and_refused_as_the_reference_reader_does(name: str, tmp_path: Path) -> None:
    header, data, fault = FILES[name]
    found = header_of(tmp_path, container(header, data))
    assert ([f.fault for f in found.faults][:1] or [None]) == [fault]
    assert found.broken == refused(container(header, data))


@pytest.mark.parametrize(
    ("prefix", "rest"),
    [(b"", b""), (b"\1\0\0", b""), ((2**63).to_bytes(8, "little"), b"{}"), ((3).to_bytes(8, "little"), b"{}")],
)
def test_a_header_longer_than_the_file_is_refused(prefix: bytes, rest: bytes, tmp_path: Path) -> None:
    found = header_of(tmp_path, prefix + rest)
    assert list(found.counts) == ["length"]
    assert refused(prefix + rest)


def test_a_header_beyond_the_limit_of_the_format_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    with file.open("wb") as stream:
        stream.write((MAX_HEADER_BYTES + 1).to_bytes(8, "little"))
        stream.truncate(MAX_HEADER_BYTES + 100)
    assert list(read_header(Folder.of(tmp_path), "a.safetensors").counts) == ["length"]


def test_what_only_the_reference_reader_has_a_meaning_for_is_refused(tmp_path: Path) -> None:
    for header in (b'{"a":["F32",[1],[0,4]]}', entry(dtype={"F32": None})):
        assert not refused(container(header, DATA))
        assert header_of(tmp_path, container(header, DATA)).broken


def test_a_cut_file_still_says_what_it_should_hold(tmp_path: Path) -> None:
    header = f'{{{ENTRY},"b":{{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}}}'.encode()
    found = header_of(tmp_path, container(header, DATA))
    assert [tensor.name for tensor in found.declared] == ["a", "b"]
    assert [tensor.name for tensor in found.tensors] == ["a"]
    assert found.listed
    assert found.broken


def test_many_faults_are_counted_and_a_few_kept(tmp_path: Path) -> None:
    count = 10 * MAX_FAULTS
    header = {f"t{i}": {"dtype": "F31", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i in range(count)}
    found = header_of(tmp_path, container(header, bytes(4 * count)))
    assert found.counts == {"json": count}
    assert len(found.faults) == MAX_FAULTS


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


WORDS = st.sampled_from(
    [
        "F32",
        "F16",
        "BF16",
        "U8",
        "F4",
        "F6_E2M3",
        "I64",
        "C64",
        "X",
        "",
        0,
        1,
        2,
        4,
        8,
        -1,
        1.5,
        True,
        None,
        2**63,
        2**64,
    ]
)
SIZES = st.lists(st.one_of(st.integers(0, 5), WORDS), max_size=3)
ENTRIES = st.one_of(
    WORDS,
    st.fixed_dictionaries(
        {"dtype": WORDS, "shape": SIZES, "data_offsets": st.lists(st.integers(0, 24), min_size=2, max_size=2)},
        optional={"more": WORDS},
    ),
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "__metadata__"]), ENTRIES, max_size=3), st.integers(0, 24))
def test_any_header_is_refused_by_both_or_by_none(scratch: Path, header: dict[str, Any], size: int) -> None:
    content = container(json.dumps(header).encode(), bytes(size))
    assert header_of(scratch, content).broken == refused(content)


@given(st.data())
def test_a_sound_file_with_changed_bytes_is_refused_by_both_or_by_none(scratch: Path, data: st.DataObject) -> None:
    header = f'{{"__metadata__":{{"format":"pt"}},{ENTRY},"b":{{"dtype":"BF16","shape":[2,1],"data_offsets":[4,8]}}}}'
    content = bytearray(container(header.encode(), b"12345678"))
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    found = header_of(scratch, bytes(content))
    assert found.broken == refused(bytes(content))
