"""The numbers of the one pass against numpy's own, for every dtype; hashes, changes while reading, and the cache."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.folder import Folder
from engine.audit.scan import scan
from engine.audit.scan.codes import CODES, decode, is_nan, not_finite
from engine.audit.scan.passes import CHUNK_BYTES
from engine.audit.scan.running import Running
from engine.audit.tensors import TensorInfo, TensorStats

KNOWN = {
    "BF16": [(0x3F80, 1.0), (0xC000, -2.0), (0x7F80, math.inf), (0x7FC0, math.nan)],
    "F16": [(0x3C00, 1.0), (0x7BFF, 65504.0), (0xFC00, -math.inf), (0x7E00, math.nan)],
    "F32": [(0x3F800000, 1.0), (0xFF800000, -math.inf)],
    "F64": [(0x3FF0000000000000, 1.0), (0x7FF0000000000001, math.nan)],
    "F8_E4M3": [(0x38, 1.0), (0x7E, 448.0), (0x7F, math.nan), (0xFF, math.nan), (0x01, 2.0**-9)],
    "F8_E5M2": [(0x3C, 1.0), (0x7B, 57344.0), (0x7C, math.inf), (0xFC, -math.inf), (0x7D, math.nan)],
    "F8_E4M3FNUZ": [(0x40, 1.0), (0x7F, 240.0), (0x80, math.nan)],
    "F8_E5M2FNUZ": [(0x40, 1.0), (0x7F, 57344.0), (0x80, math.nan)],
}


@pytest.mark.parametrize("dtype", sorted(CODES))
def test_codes_stand_for_the_numbers_of_the_format(dtype: str) -> None:
    for code, number in KNOWN[dtype]:
        value = decode(np.array([code], CODES[dtype].unsigned), dtype)[0]
        assert value == number or (math.isnan(value) and math.isnan(number))


@pytest.mark.parametrize("dtype", sorted(CODES))
def test_every_code_is_finite_exactly_if_its_number_is(dtype: str) -> None:
    width = np.dtype(CODES[dtype].unsigned).itemsize
    codes = (
        np.arange(2 ** (8 * width), dtype=CODES[dtype].unsigned)
        if width <= 2
        else np.random.default_rng(0).integers(0, 2**63, 100_000, dtype=np.uint64).astype(CODES[dtype].unsigned)
    )
    numbers = decode(codes, dtype)
    assert np.array_equal(not_finite(codes, dtype), ~np.isfinite(numbers))
    assert np.array_equal(is_nan(codes, dtype), np.isnan(numbers))


@given(st.sampled_from(sorted(CODES)), st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=40), st.data())
def test_stats_agree_with_the_numbers_themselves(dtype: str, words: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(words)
    codes = np.frombuffer(raw, CODES[dtype].unsigned)
    rows = data.draw(st.sampled_from([n for n in (1, 2, 4) if codes.size % n == 0]))
    stats = fed(TensorInfo("t", "f", dtype, (rows, codes.size // rows), 0, len(raw)), raw)
    numbers = decode(codes, dtype)
    finite = numbers[np.isfinite(numbers)]
    assert stats.nan == np.isnan(numbers).sum()
    assert stats.inf == np.isinf(numbers).sum()
    assert stats.first_bad == (None if finite.size == numbers.size else int((~np.isfinite(numbers)).argmax()))
    assert stats.absmax == (np.abs(finite).max() if finite.size else 0.0)
    assert stats.zero == bool((numbers == 0).all())
    assert stats.constant == (len(set(codes.tolist())) == 1)
    if finite.size == numbers.size and codes.size // rows > 1:
        zero_rows = (numbers.reshape(rows, -1) == 0).all(axis=1).mean()
        assert stats.zero_rows == pytest.approx(zero_rows)


def fed(tensor: TensorInfo, raw: bytes) -> TensorStats:
    running = Running(tensor)
    running.feed(memoryview(raw))
    return running.stats()


def test_a_tensor_in_several_chunks_has_the_stats_of_the_whole(tmp_path: Path) -> None:
    numbers = np.linspace(-1, 1, 3 * CHUNK_BYTES // 4 + 16, dtype=np.float32)
    numbers[-5] = np.nan
    (tmp_path / "w.bin").write_bytes(b"head" * 2 + numbers.tobytes() + b"tail")
    tensor = TensorInfo("w", "w.bin", "F32", numbers.shape, 8, numbers.nbytes)
    found = scan(Folder.of(tmp_path), [tensor])
    assert found.hashes["w.bin"] == hashlib.sha256((tmp_path / "w.bin").read_bytes()).hexdigest()
    stats = found.stats["w"]
    assert (stats.nan, stats.first_bad, stats.absmax, stats.constant) == (1, numbers.size - 5, 1.0, False)


def test_tied_names_share_one_reading_and_overlaps_have_none(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(np.ones(64, np.float32).tobytes())
    tied = [TensorInfo(name, "w.bin", "F32", (32,), 0, 128) for name in ("a", "b")]
    over = TensorInfo("c", "w.bin", "F32", (32,), 64, 128)
    found = scan(Folder.of(tmp_path), [*tied, over])
    assert found.stats["a"] == found.stats["b"]
    assert "c" not in found.stats


def test_a_file_that_is_cut_or_grows_since_it_was_listed_is_a_problem(tmp_path: Path) -> None:
    for name, size in (("cut", 10), ("grown", 5000), ("same", 1000)):
        (tmp_path / name).write_bytes(b"x" * 1000)
        folder = Folder.of(tmp_path)
        (tmp_path / name).write_bytes(b"x" * size)
        if name == "same":
            os.utime(tmp_path / name, ns=(1, 1))
        found = scan(folder, [])
        assert name in found.problems
        assert name not in found.hashes


def test_without_hashing_only_the_tensors_are_read(tmp_path: Path) -> None:
    numbers = np.arange(16, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(b"head" * 2 + numbers.tobytes() + b"tail")
    (tmp_path / "other.bin").write_bytes(b"x" * 100)
    tensor = TensorInfo("w", "w.bin", "F32", (16,), 8, numbers.nbytes)
    whole = scan(Folder.of(tmp_path), [tensor])
    found = scan(Folder.of(tmp_path), [tensor], hashing=False)
    assert (found.stats, found.hashes, found.problems) == (whole.stats, {}, {})


def test_an_unchanged_file_is_not_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big, cache = tmp_path / "model" / "w.bin", tmp_path / "cache"
    big.parent.mkdir()
    big.write_bytes(np.ones(1 << 19, np.float32).tobytes())
    tensor = TensorInfo("w", "w.bin", "F32", (1 << 19,), 0, 1 << 21)
    monkeypatch.setattr("engine.audit.scan.cache._SETTLED_SECONDS", -1)
    first = scan(Folder.of(big.parent), [tensor], cache)
    assert list(cache.iterdir())
    monkeypatch.setattr("engine.audit.scan.cache.scan_file", lambda *_, **__: pytest.fail("the file was read again"))
    again = scan(Folder.of(big.parent), [tensor], cache)
    assert (again.hashes, again.stats) == (first.hashes, first.stats)


def test_a_file_that_was_written_to_is_read_again_even_with_its_old_time(tmp_path: Path) -> None:
    big, cache = tmp_path / "model" / "w.bin", tmp_path / "cache"
    big.parent.mkdir()
    big.write_bytes(b"a" * (1 << 21))
    before = big.stat()
    first = scan(Folder.of(big.parent), [], cache)
    big.write_bytes(b"b" * (1 << 21))
    os.utime(big, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert scan(Folder.of(big.parent), [], cache).hashes != first.hashes
