"""One defect for each gate of the containers."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engine.audit.build.causal_lm import causal_lm, sharded_lm, then_summed, write_json
from tests.engine.audit.build.gguf import gguf
from tests.engine.audit.build.weights import container, edit_weights, load, save
from tests.engine.audit.given import Defect, Given

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
# What no longer can be said when a file or a part of it is gone.
ABSENCE = frozenset({"names/params-present", "names/layer-gap"})


def edit_header(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the header of a file and leave its data."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    change(header)
    file.write_bytes(container(header, content[8 + length :]))


def pointer(given: Given) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 76168\n"
    (given.root / WEIGHTS).write_text(text)


def half_a_header(given: Given) -> None:
    file = given.root / WEIGHTS
    file.write_bytes(file.read_bytes()[:900])


def web_page(given: Given) -> None:
    (given.root / WEIGHTS).write_bytes(b"<!DOCTYPE html><html>" + b"<p>Not found</p>" * 200)


def unknown_dtype(given: Given) -> None:
    edit_header(given.root / WEIGHTS, lambda header: header["lm_head.weight"].update(dtype="BF17"))


def no_json(given: Given) -> None:
    file = given.root / WEIGHTS
    content = file.read_bytes()
    file.write_bytes(content[:8] + b"[" + content[9:])


def leading_space(given: Given) -> None:
    file = given.root / WEIGHTS
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    file.write_bytes(struct.pack("<Q", length + 8) + b" " * 8 + content[8:])


def name_twice(given: Given) -> None:
    file = given.root / WEIGHTS
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = content[8 : 8 + length].rstrip()
    entry = json.dumps(json.loads(header)["model.norm.weight"])
    header = header[:-1] + f',"model.norm.weight":{entry}}}'.encode()
    file.write_bytes(container(header + b" " * (-len(header) % 8), content[8 + length :]))


def overlap(given: Given) -> None:
    def change(header: dict[str, Any]) -> None:
        header["model.layers.1.mlp.up_proj.weight"]["data_offsets"] = header["model.layers.1.mlp.gate_proj.weight"][
            "data_offsets"
        ]

    edit_header(given.root / WEIGHTS, change)


def wrong_extent(given: Given) -> None:
    edit_header(given.root / WEIGHTS, lambda header: header["model.norm.weight"].update(shape=[31]))


def cut(given: Given) -> None:
    file = given.root / WEIGHTS
    file.write_bytes(file.read_bytes()[:-1000])


def trailing_byte(given: Given) -> None:
    file = given.root / WEIGHTS
    file.write_bytes(file.read_bytes() + b"\0")


def cut_gguf(given: Given) -> None:
    file = given.root / "tiny.gguf"
    file.write_bytes(file.read_bytes()[:-64])


def no_gguf(given: Given) -> None:
    file = given.root / "tiny.gguf"
    file.write_bytes(b"GGML" + file.read_bytes()[4:])


def huge_count(given: Given) -> None:
    file = given.root / "tiny.gguf"
    content = file.read_bytes()
    file.write_bytes(content[:8] + struct.pack("<Q", 1 << 60) + content[16:])


def shard_absent(given: Given) -> None:
    (given.root / SECOND).unlink()


def index_absent(given: Given) -> None:
    (given.root / INDEX).unlink()


def older_set(given: Given) -> None:
    tensors = load(given.root / SECOND)
    save(given.root / "model-00003-of-00003.safetensors", tensors)


def stale_index(given: Given) -> None:
    index = json.loads((given.root / INDEX).read_text())
    index["weight_map"]["model.norm.weight"] = FIRST
    write_json(given.root / INDEX, index)


def size_of_another_export(given: Given) -> None:
    index = json.loads((given.root / INDEX).read_text())
    index["metadata"]["total_size"] *= 2
    write_json(given.root / INDEX, index)


def left_beside_shards(given: Given) -> None:
    tensors = load(given.root / FIRST)
    save(given.root / WEIGHTS, tensors)


def other_format(given: Given) -> None:
    (given.root / "consolidated.safetensors").write_bytes((given.root / WEIGHTS).read_bytes())

    def change(tensors: dict[str, Any]) -> None:
        raw = tensors["model.norm.weight"]
        tensors["model.norm.weight"] = raw._replace(data=raw.data[:-2] + b"\x80\x3f")

    edit_weights(given.root / "consolidated.safetensors", change)


def link_out(given: Given) -> None:
    outside = given.root.parent / "elsewhere.safetensors"
    outside.write_bytes(b"")
    (given.root / "more.safetensors").symlink_to(outside)


def path_in_index(given: Given) -> None:
    index = json.loads((given.root / INDEX).read_text())
    index["weight_map"]["model.norm.weight"] = "../base/model.safetensors"
    write_json(given.root / INDEX, index)


def _one(gate: str, spoil: Callable[[Given], None], *also: str, build: Callable[[Path], Given] = causal_lm) -> Defect:
    return Defect(f"container/{gate}", build, then_summed(spoil), frozenset(also))


def rewritten(metadata: dict[str, str] | None) -> Callable[[Given], None]:
    def spoil(given: Given) -> None:
        path = given.root / "model.safetensors"
        content = path.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        header["__metadata__"] = metadata
        kept = {name: entry for name, entry in header.items() if entry is not None}
        path.write_bytes(container(kept, content[8 + length :]))

    spoil.__name__ = "of_no_library" if metadata is None else "of_another_library"
    return spoil


DEFECTS = (
    _one("lfs-pointer", pointer),
    _one("st-header-length", half_a_header),
    _one("st-header-length", web_page),
    _one("st-header-json", unknown_dtype, *ABSENCE),
    _one("st-header-json", no_json),
    _one("st-header-json", leading_space),
    _one("st-framework", rewritten(None)),
    _one("st-framework", rewritten({"format": "np"})),
    _one("st-duplicate-key", name_twice),
    _one("st-contiguous", overlap, "weights/twin-tensors"),
    _one("st-extent-size", wrong_extent, *ABSENCE),
    _one("st-file-length", cut, *ABSENCE),
    _one("st-file-length", trailing_byte),
    _one("gguf-header", cut_gguf, build=gguf),
    _one("gguf-header", no_gguf, build=gguf),
    _one("gguf-header", huge_count, build=gguf),
    _one("idx-files-exist", shard_absent, "container/shard-set-complete", build=sharded_lm),
    _one("idx-files-exist", index_absent, build=sharded_lm),
    _one("shard-set-complete", older_set, "container/stale-weights", build=sharded_lm),
    _one("idx-equals-headers", stale_index, build=sharded_lm),
    _one("idx-total-size", size_of_another_export, build=sharded_lm),
    _one("stale-weights", left_beside_shards, build=sharded_lm),
    _one("stale-weights", other_format),
    _one("path-escape", link_out),
    _one("path-escape", path_in_index, build=sharded_lm),
)
