"""Folders made to do harm: each gives an answer within bounds, and nothing of them is run, imported or fetched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from engine.audit.checkpoint import Checkpoint
from engine.audit.decide import Auditor
from engine.audit.folder import Folder
from engine.model.audit import AuditResult
from tests.effort import effort
from tests.engine.audit.build import pickled
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.build.pickled import Call, Name, Writer, hostile
from tests.engine.audit.build.weights import container
from tests.engine.audit.given import TODAY, Given, audited

ROOT = Path(__file__).parents[3]


def status(result: AuditResult, gate: str) -> str:
    return next(g.status for g in result.gates if g.id == gate)


def judged(auditor: Auditor, root: Path) -> AuditResult:
    return auditor.audit(Checkpoint(Folder.of(root)), today=TODAY)


# What the audit does while it looks

_WATCHED = """
    import json, os, sys
    from pathlib import Path

    root, allowed = Path(sys.argv[1]), sys.argv[2]
    os.chdir(root)
    sys.path.insert(0, str(root))  # a loader that imports would find the modules of the checkpoint

    from engine.audit.checkpoint import Checkpoint
    from engine.audit.decide import Auditor
    from engine.audit.folder import Folder
    from engine.audit.intent import parse_intent
    from engine.knowledge.load import load_knowledge
    import datetime

    auditor = Auditor(load_knowledge())

    def run(folder, intent):
        checkpoint = Checkpoint(Folder.of(folder), parse_intent(intent), folder.parent)
        return auditor.audit(checkpoint, today=datetime.date(2026, 6, 1))

    # Once without watching, so that the libraries which are loaded late are there.
    run(Path(sys.argv[3]), Path(sys.argv[4]).read_bytes())
    seen = []
    started = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "subprocess.Popen", "pty.spawn")
    others = ("socket.", "urllib.", "http.", "ftplib.", "pickle.find_class", "marshal.", "ctypes.", "shutil.",
              "sqlite3.", "os.remove", "os.rename", "os.mkdir", "os.chmod", "os.link", "os.symlink", "os.truncate",
              "code.__new__", "function.__new__", "webbrowser.")

    def hook(event, args):
        if event in started:
            command = [str(part) for part in args[1]] if event == "subprocess.Popen" else []
            if not any(part.endswith(allowed) for part in command):
                seen.append(f"{event} {args!r:.200}")
        elif event.startswith(others):
            seen.append(f"{event} {args!r:.200}")
        elif event == "exec" and not args[0].co_filename.startswith((sys.prefix, sys.base_prefix, "<frozen")):
            seen.append(f"exec {args[0].co_filename}")
        elif event == "open" and isinstance(args[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(args[0]))
            writes = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if (writes and path != os.devnull) or "outside" in path or path == "/etc/passwd":
                seen.append(f"open {path} {args[1:]}")
        elif event == "import" and args[0].partition(".")[0].startswith(("evil", "modeling_evil")):
            seen.append(f"import {args[0]}")

    sys.addaudithook(hook)
    result = run(root, b'{"paradigm": "sft", "release_kind": "downstream"}')
    watched = list(seen)
    # The watch itself must see such things.
    import pickle
    pickle.loads(b"cbuiltins\\nlist\\n.")
    exec("1")
    open(os.devnull, "w").close()
    print(json.dumps({
        "seen": watched,
        "control": [event.partition(" ")[0] for event in seen[len(watched):]],
        "modules": [name for name in sys.modules if name.startswith(("evil", "modeling_evil"))],
        "status": {gate.id: gate.status for gate in result.gates},
    }))
"""


def _evil(tmp_path: Path) -> Path:
    """A healthy model with everything in it that could be run, imported, followed or fetched."""
    root = causal_lm(tmp_path).root
    marker = tmp_path / "marker"
    run = f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n"
    for name in ("evil.py", "modeling_evil.py", "conftest.py", "sitecustomize.py", "custom_generate/generate.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(run)
    touch = f"touch {marker}"
    for name in (".metadata", "pytorch_model.bin", "noname", "rng_state.pth", "__0_0.distcp"):
        (root / name).write_bytes(hostile(touch))
    (root / "through_import.pkl").write_bytes(Writer().dumps(Call(Name("evil", "run"))))
    pickled.save(root / "optimizer.pt", {"x": Call(Name("evil", "run"), (touch,))})
    (root / "scheduler.pt").write_bytes(hostile(f"open({str(marker)!r}, 'w')", "builtins", "exec"))
    given = Given(root)
    given.edit_json(
        "config.json",
        auto_map={"AutoModelForCausalLM": "modeling_evil.Evil", "AutoConfig": "other/repo--modeling_evil.Evil"},
        _attn_implementation="other/kernels",
        weights="https://example.org/weights",
    )
    (root / "chat_template.jinja").write_text(
        f"{{{{ cycler.__init__.__globals__.os.system({touch!r}) }}}}{{% include '/etc/passwd' %}}"
    )
    (root / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "evil.Module"}]))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text("{}")
    (root / "generation_config.json").unlink()
    (root / "generation_config.json").symlink_to(outside / "secret.json")
    (root / "linked").symlink_to(outside)
    os.mkfifo(root / "model-00002-of-00002.safetensors")
    return root


def test_nothing_of_a_checkpoint_is_run_imported_or_fetched(tmp_path: Path) -> None:
    root = _evil(tmp_path)
    healthy = causal_lm(tmp_path / "healthy")
    intent = tmp_path / "intent.json"
    intent.write_text(json.dumps(healthy.intent))
    script = tmp_path / "watched.py"
    script.write_text(textwrap.dedent(_WATCHED))
    child = "engine/audit/template/child.py"
    done = subprocess.run(
        [sys.executable, script, root, child, healthy.root, intent],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["seen"] == []
    assert told["control"] == ["pickle.find_class", "exec"]
    assert told["modules"] == []
    assert not (tmp_path / "marker").exists()
    failing = {gate for gate, state in told["status"].items() if state == "fail"}
    assert {"security/sec-pickle-globals", "security/sec-remote-code", "security/sec-config-code-fields"} <= failing
    assert "security/sec-template" in failing


# Files that are none, or are not the same any more


def test_pipes_and_links_out_of_the_folder_are_never_opened(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    secret = tmp_path / "secret.bin"
    secret.write_bytes(hostile())
    os.mkfifo(given.root / "extra.bin")
    (given.root / "link.bin").symlink_to(secret)
    (given.root / "loop").symlink_to("loop")
    (given.root / "up").symlink_to("..")
    result = audited(auditor, given)
    assert status(result, "security/sec-pickle-globals") == "pass"
    assert not {"extra.bin", "link.bin", "loop", "up"} & {file.path for file in result.files}


def test_a_file_that_changes_while_it_is_read_is_no_pass(tmp_path: Path, auditor: Auditor) -> None:
    given = pickled.torch_lm(tmp_path)
    checkpoint = Checkpoint(Folder.of(given.root))
    path = given.root / "pytorch_model.bin"
    path.write_bytes(path.read_bytes() + b"\0")
    result = auditor.audit(checkpoint, today=TODAY)
    assert status(result, "security/sec-pickle-globals") == "not_enough_evidence"
    assert status(result, "security/sec-pickle-parse") in ("not_enough_evidence", "fail")


def test_a_file_that_went_away_is_no_pass(tmp_path: Path, auditor: Auditor) -> None:
    given = pickled.torch_lm(tmp_path)
    checkpoint = Checkpoint(Folder.of(given.root))
    (given.root / "pytorch_model.bin").unlink()
    result = auditor.audit(checkpoint, today=TODAY)
    assert status(result, "security/sec-pickle-globals") == "not_enough_evidence"


def test_a_hard_link_is_judged_by_its_content(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (tmp_path / "evil").write_bytes(hostile())
    (given.root / "weights").hardlink_to(tmp_path / "evil")
    assert status(audited(auditor, given), "security/sec-pickle-globals") == "fail"


# Sizes


@pytest.mark.parametrize(
    "content",
    [
        (1 << 63).to_bytes(8, "little"),
        (100_000_000).to_bytes(8, "little") + b"{",
        container(
            {f"w{n}": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]} for n in range(50)}, b""
        ),
        container(b"[" * 100_000, b""),
        container(b'{"a":' * 50_000, b""),
    ],
    ids=["length", "longer-than-file", "overlapping", "deep-list", "deep-object"],
)
def test_a_header_made_to_be_large_is_refused(tmp_path: Path, auditor: Auditor, content: bytes) -> None:
    given = causal_lm(tmp_path)
    (given.root / "model.safetensors").write_bytes(content)
    assert audited(auditor, given).verdict == "fail"


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json",
                                  "adapter_config.json", "modules.json", "model.safetensors.index.json"])  # fmt: skip
@pytest.mark.parametrize(
    "content", [b"[" * 200_000, b'{"a":' * 100_000, b"\xff\xfe", b"", b"null", b"[]", b'"x"', b"7"]
)
def test_a_document_of_another_form_leads_to_an_answer(
    tmp_path: Path, auditor: Auditor, name: str, content: bytes
) -> None:
    given = causal_lm(tmp_path)
    (given.root / name).write_bytes(content)
    audited(auditor, given)


def test_a_deep_pickle_is_followed_without_recursion(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (given.root / "a.pkl").write_bytes(b"\x80\x02N" + b"\x85" * 300_000 + b".")
    (given.root / "b.pkl").write_bytes(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")
    state = b"ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00a"
    (given.root / "c.pkl").write_bytes(b"\x80\x02" + state * 20_000 + b"N" + b"u" * 20_000 + b".")
    result = audited(auditor, given)
    assert status(result, "security/sec-pickle-parse") == "pass"


def test_pickles_that_grow_by_their_memo_do_not_grow_here(tmp_path: Path, auditor: Auditor) -> None:
    """Each tuple holds the one before it twice: a copy of the value would have 2 to the 60 members."""
    given = causal_lm(tmp_path)
    (given.root / "pytorch_model.bin").write_bytes(b"\x80\x02}" + b"q\x00" + b"X\x01\x00\x00\x00a"
                                                   + b"N" + b"2\x86" * 60 + b"s.")  # fmt: skip
    (given.root / "m.pt").write_bytes(_torch(b"\x80\x02N" + b"2\x86" * 60 + b"."))
    nested = b"}X\x01\x00\x00\x00aNs"
    for _ in range(60):  # a dict that holds the one before it under two names
        nested += b"q\x010}X\x01\x00\x00\x00ah\x01sX\x01\x00\x00\x00bh\x01s"
    (given.root / "d.pt").write_bytes(_torch(b"\x80\x02" + nested + b"."))
    assert status(audited(auditor, given), "security/sec-pickle-parse") == "pass"


def _torch(content: bytes) -> bytes:
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/data.pkl", content)
    return buffer.getvalue()


def test_an_archive_of_zeros_takes_no_memory(tmp_path: Path) -> None:
    given = causal_lm(tmp_path)
    with zipfile.ZipFile(given.root / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for n, size in enumerate((20, 70)):
            archive.writestr(f"{n}", b"B" + (size << 20).to_bytes(4, "little") + bytes(size << 20) + b"0N.")
    checkpoint = Checkpoint(Folder.of(given.root))
    tracemalloc.start()
    assert checkpoint.pickles.unread
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 << 20


def test_an_archive_with_many_members_ends(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    with zipfile.ZipFile(given.root / "many.pt", "w") as archive:
        archive.writestr("a/data.pkl", Writer().dumps({}))
        for n in range(20_000):
            archive.writestr(f"a/data/{n}", b"")
    assert status(audited(auditor, given), "security/sec-pickle-parse") == "pass"


@pytest.mark.parametrize("count", [20_000, pytest.param(effort(200_000, 1_000_000), marks=pytest.mark.long)])
def test_many_tensors_are_counted(tmp_path: Path, auditor: Auditor, count: int) -> None:
    given = causal_lm(tmp_path)
    entry = '{{"dtype":"U8","shape":[1],"data_offsets":[{0},{1}]}}'
    header = "{" + ",".join(f'"w{n}":' + entry.format(n, n + 1) for n in range(count)) + "}"
    (given.root / "model.safetensors").write_bytes(container(header.encode(), bytes(count)))
    result = audited(auditor, given)
    assert result.verdict == "fail"
    assert all(len(gate.places) <= 20 for gate in result.gates)


def test_many_files_end(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    for n in range(3_000):
        (given.root / f"{n}.json").write_text("{}")
    audited(auditor, given)


def test_texts_that_are_slow_for_patterns_end(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    for n, piece in enumerate(("api_key=", "://", "://a:", "eyJ", "sk-", "/home/", "-----BEGIN ", "a.", "C:\\Users\\")):
        (given.root / f"{n}.txt").write_text(piece * (400_000 // len(piece)))
    audited(auditor, given)


@pytest.mark.parametrize(
    "text",
    ["{{" * 50_000, "{{ " + "(" * 50_000, "{{ 1" + "+1" * 50_000 + " }}", "{% if x %}" * 20_000, "{{ 'a' * 10**9 }}",
     "{% for i in range(10**9) %}{{ i }}{% endfor %}", "{{ " + "[" * 3_000 + "]" * 3_000 + " }}"],
    ids=["braces", "parens", "sum", "if", "power", "loop", "lists"],
)  # fmt: skip
def test_a_template_made_to_be_slow_is_not_rendered_here(tmp_path: Path, auditor: Auditor, text: str) -> None:
    given = causal_lm(tmp_path)
    (given.root / "extra").mkdir()
    (given.root / "extra" / "a.jinja").write_text(text)
    assert status(audited(auditor, given), "security/sec-template") in ("pass", "not_enough_evidence")
