"""``traintriage audit`` as a release manager and a pipeline meet it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from api.cli import main
from engine.audit.checkpoint import Checkpoint
from engine.audit.given import checkpoint_of
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_knowledge
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.given import Given


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knowledge: Knowledge) -> None:
    """Scans are kept in the test's own folder; the knowledge base, which stays as it is, is loaded once for all."""

    def known(overlay: Path | None = None) -> Knowledge:
        return knowledge if overlay is None else load_knowledge(overlay=overlay)

    monkeypatch.setattr("api.cli.audit.cache_folders", lambda: [tmp_path / "cache"])
    monkeypatch.setattr("api.cli.audit.load_knowledge", known)


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """A healthy release with the intent in a file beside it."""
    given = causal_lm(tmp_path)
    (tmp_path / "intent.json").write_text(json.dumps(given.intent))
    return given


@pytest.fixture
def cut(given: Given) -> Given:
    """The same with weights that were cut off."""
    weights = given.root / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    return given


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, standard output and standard error of the command in this process."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["audit", *(str(argument) for argument in arguments)])
        printed = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, printed.out, printed.err

    return run


def audited(run: Run, *arguments: object) -> tuple[int, Any]:
    code, out, _ = run(*arguments, "--json")
    return code, json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))


def test_a_healthy_release_fails_nothing(run: Run, given: Given) -> None:
    code, result = audited(run, given.root, "--intent", given.root.parent / "intent.json")
    assert [gate["id"] for gate in result["gates"] if gate["status"] == "fail"] == []
    assert code == {"pass": 0, "incomplete": 3}[result["verdict"]]
    assert {file["path"] for file in result["files"]} >= {"config.json", "model.safetensors"}


def test_a_broken_one_fails_with_exit_code_1(run: Run, cut: Given) -> None:
    code, result = audited(run, cut.root, "--intent", cut.root.parent / "intent.json")
    assert (code, result["verdict"]) == (1, "fail")
    code, out, _ = run(cut.root, "--lang", "en")
    assert code == 1
    assert out.startswith("Fail:")
    assert "✗ blocker" in out


def test_evidence_that_a_policy_of_the_site_requires_makes_it_incomplete(run: Run, given: Given) -> None:
    policies = given.root.parent / "site" / "policies"
    policies.mkdir(parents=True)
    (policies / "site-strict.yaml").write_text(
        "id: site-strict\ntitle: {en: Strict, zh: 严格}\nrequires: [code/single-batch-overfits]\n"
        "because: {en: So it is., zh: 如此。}\n"
    )
    code, result = audited(run, given.root, "--overlay", policies.parent, "--policy", "site-strict")
    (gate,) = [gate for gate in result["gates"] if gate["id"] == "code/single-batch-overfits"]
    assert (gate["required"], gate["status"]) == (True, "not_enough_evidence")
    assert (code, result["verdict"], result["policy"]) == (3, "incomplete", "site-strict")


@pytest.mark.parametrize("name", ["verify", "keygen"])
def test_a_folder_may_be_called_like_a_command(run: Run, given: Given, name: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(given.root.parent)
    given.root.rename(name)
    assert "config.json" in {file["path"] for file in audited(run, f"./{name}")[1]["files"]}


WRONG: list[tuple[tuple[str, ...], int, str]] = [
    (("nowhere",), 2, "nowhere is no folder"),
    (("intent.json",), 2, "intent.json is no folder"),
    (("empty",), 4, "empty is empty"),
    ((), 2, "DIRECTORY"),
    (("model", "--intent", "nowhere.yaml"), 2, "nowhere.yaml cannot be read"),
    (("model", "--intent", "model"), 2, "model"),
    (("model", "--intent", "bad.yaml"), 2, "targets"),
    (("model", "--policy", "no-such"), 2, "'no-such' is none of"),
    (("x" * 5_000,), 2, "File name too long"),
    (("model", "--base", "nowhere"), 2, "nowhere is no folder"),
    (("model", "--base", "empty"), 2, "empty, the base, is empty: it needs config.json"),
    (("model", "--sarif"), 2, "--sarif and --json both print"),
    (("model", "--evals", "nowhere"), 2, "nowhere is not there"),
    (("model", "--overlay", "nowhere"), 2, "nowhere"),
    (("model", "--output", "no/such/report.json"), 2, "no/such/report.json"),
    (("model", "--html", "empty"), 2, "empty"),
    (("model", "--github"), 2, "--output"),
    (("model", "--attest", "x.json"), 2, "--key"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "says"), WRONG, ids=lambda v: " ".join(v) if isinstance(v, tuple) else ""
)
def test_wrong_use_is_one_problem_that_names_it(
    run: Run, given: Given, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, says: str
) -> None:
    monkeypatch.chdir(given.root.parent)
    Path("empty").mkdir()
    Path("bad.yaml").write_text("targets: 3\n")
    got, problem = audited(run, *arguments)
    assert got == code
    assert set(problem) == {"type", "title", "detail"}
    assert says in problem["detail"]
    if not {"--github", "--sarif"} & set(arguments):  # each of which alone is right use
        got, out, err = run(*arguments)
        assert (got, out) == (code, "")
        assert "Traceback" not in err


def test_an_intent_that_is_a_pipe_does_not_wait(run: Run, given: Given) -> None:
    pipe = given.root.parent / "pipe"
    os.mkfifo(pipe)
    code, problem = audited(run, given.root, "--intent", pipe)
    assert (code, problem["detail"]) == (2, f"{pipe} is no regular file")


def test_every_form_in_one_audit(run: Run, cut: Given, tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("audit.json", "audit.sarif", "audit.xml")]
    outputs = [part for name in names for part in ("--output", name)]
    code, out, _ = run(cut.root, *outputs, "--html", tmp_path / "audit.html", "--lang", "en")
    assert code == 1
    assert out.startswith("Fail:")
    assert json.loads(names[0].read_text())["verdict"] == "fail"
    assert json.loads(names[1].read_text())["version"] == "2.1.0"
    assert int(Xml.fromstring(names[2].read_text()).attrib["failures"]) > 0
    assert (tmp_path / "audit.html").read_text().startswith("<!doctype html>")


def test_a_form_that_cannot_be_told_is_asked_for(run: Run, given: Given) -> None:
    code, out, err = run(given.root, "--output", given.root.parent / "report.txt")
    assert (code, out) == (2, "")
    assert ".sarif" in err


@pytest.mark.parametrize(("form", "start"), [("--sarif", "{"), ("--junit", "<?xml")])
def test_a_form_alone_on_standard_output(run: Run, cut: Given, form: str, start: str, tmp_path: Path) -> None:
    code, out, _ = run(cut.root, form)
    assert code == 1
    assert out.startswith(start)
    run(cut.root, form, "--output", tmp_path / "any.name")
    assert (tmp_path / "any.name").read_text() == out


def test_sarif_paths_start_at_the_working_folder(run: Run, cut: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    def uris(folder: str) -> list[str]:
        results = json.loads(run(folder, "--sarif")[1])["runs"][0]["results"]
        return [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]

    monkeypatch.chdir(cut.root.parent)
    assert "model/model.safetensors" in uris("model/")
    monkeypatch.chdir(cut.root.parent / "base")
    assert "model.safetensors" in uris("../model")


def test_names_of_files_cannot_command_the_pipeline(run: Run, given: Given) -> None:
    (given.root / "\n::error::forged\x1b[2J").write_bytes(b"")
    (given.root.joinpath(os.fsdecode(b"\xff.bin"))).write_bytes(b"x")
    _, out, _ = run(given.root, "--github", "--verbose", "--lang", "en")
    lines = out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    end = lines.index(f"::{lines[0].removeprefix('::stop-commands::')}::")
    assert all(line.startswith(("::error", "::warning", "::notice")) for line in lines[end + 1 :])
    assert not any(line.lstrip().startswith("::error::forged") for line in lines[end + 1 :])
    assert "\x1b" not in out
    code, result = audited(run, given.root)
    assert code in (0, 1, 3)
    assert "\\udcff.bin" in {file["path"] for file in result["files"]}


def test_chinese(run: Run, cut: Given) -> None:
    _, out, _ = run(cut.root, "--lang", "zh")
    assert out.startswith("不通过")
    assert "必需" in out or "未通过" in out


def test_nothing_heavy_is_imported(given: Given) -> None:
    listing = "import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    code = f"{listing}from api.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", str(given.root), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1, 3)
    loaded = set(done.stderr.split())
    assert not loaded & {"torch", "transformers", "tokenizers", "fastapi", "sqlalchemy", "rich"}


def test_a_terminal_sees_how_much_was_read(run: Run, given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for variable, value in (("TERM", "xterm"), ("COLUMNS", "100")):
        monkeypatch.setenv(variable, value)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    code, out, _ = run(given.root, "--json")
    assert code in (0, 1, 3)
    assert json.loads(out)["kind"] == "causal_lm"
    size = sum(file.stat().st_size for file in given.root.rglob("*"))
    assert f"{size / 1000:.1f}/{size / 1000:.1f} kB" in screen.getvalue()


def test_a_signed_audit_is_verified_until_a_file_changes(
    run: Run, given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("keygen", "key")[0] == 0
    assert Path("key").stat().st_mode & 0o077 == 0
    assert run("model", "--key", "key", "--attest", "audit.dsse.json")[0] in (0, 3)
    code, out, _ = run("verify", "audit.dsse.json", "model", "--key", "key.pub")
    assert (code, out.split(":")[0]) == (0, "Verified")
    (given.root / "config.json").write_text("{}")
    code, found = audited(run, "verify", "audit.dsse.json", "model", "--key", "key.pub")
    assert (code, found["verified"]) == (1, False)
    assert found["problems"] == ["config.json: its bytes changed since the audit"]


def test_what_is_signed_was_read(run: Run, given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path | None] = []

    def scanned(directory: Path, *beside: Any, **more: Any) -> Checkpoint:
        seen.append(beside[-1])
        return checkpoint_of(directory, *beside, **more)

    monkeypatch.setattr("api.cli.audit.checkpoint_of", scanned)
    run("keygen", tmp_path / "key")
    for more in ([], ["--no-cache"], ["--key", tmp_path / "key", "--attest", tmp_path / "audit.dsse.json"]):
        run(given.root, *more)
    assert seen == [tmp_path / "cache" / "scans", None, None]


def test_a_bad_key_signs_nothing(run: Run, given: Given, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    for key in ("key", "nowhere"):
        arguments = (given.root, "--key", tmp_path / key, "--attest", tmp_path / "audit.dsse.json")
        code, problem = audited(run, *arguments)
        assert (code, problem["title"]) == (2, "cannot attest")
    assert not (tmp_path / "audit.dsse.json").exists()
