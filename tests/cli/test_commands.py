"""The command as a person and a pipeline meet it: exit codes, errors that teach, one JSON document on stdout."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from api.cli import main
from engine.diagnose import Diagnoser
from tests.engine.knowledge.conftest import GOLDEN

DEMO = Path(__file__).parents[2] / "api" / "static" / "demo"


@pytest.fixture(autouse=True)
def _one_engine(diagnoser: Diagnoser, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process all diagnoses share one engine; `test_diagnose_loads_no_face` starts the command with its own."""
    monkeypatch.setattr("api.cli.diagnose.load_knowledge", lambda **_: diagnoser.knowledge)
    monkeypatch.setattr("api.cli.diagnose.Diagnoser", lambda *_, **__: diagnoser)
    monkeypatch.setattr(diagnoser, "close", lambda: None)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of the command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, printed.out, printed.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))


def test_diagnose_finds_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = run_json(capsys, "diagnose", DEMO / "case.json", DEMO / "train.log")
    assert code == 1
    assert document["causes"][0]["family"] == "fp16_range"
    assert document["next_checks"][0]["if"]


def test_diagnose_prints_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diagnose", DEMO / "case.json", DEMO / "train.log", "--verbose")
    assert code == 1
    assert "train.log:" in out
    assert "\x1b[" not in out


def test_nothing_abnormal_exits_with_0(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    case = tmp_path / "case.yaml"
    case.write_text("series:\n- {name: loss, values: [3.0, 2.9, 2.8, 2.7, 2.6, 2.5, 2.45, 2.4, 2.35, 2.3]}\n")
    code, document = run_json(capsys, "diagnose", case)
    assert (code, document["causes"], document["findings"]) == (0, [], [])


@pytest.mark.parametrize("text", ['{"loss": ', "[]", "[{}, {}]", "{}", "[1, 2, 3]"])
def test_json_in_which_nothing_is_known_is_listed_and_incomplete(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    (tmp_path / "some.json").write_text(text)
    code, document = run_json(capsys, "diagnose", tmp_path / "some.json")
    assert code == 3
    assert [item["where"] for item in document["not_understood"]] == ["some.json"]


def test_an_empty_file_is_like_an_empty_folder_nothing_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.log").touch()
    assert run(capsys, "diagnose", tmp_path / "folder")[0] == 4
    code, document = run_json(capsys, "diagnose", tmp_path / "empty.log")
    assert code == 4
    assert "empty.log" in document["detail"]
    assert run(capsys, "diagnose", tmp_path / "empty.log", "-r", "loss is NaN")[0] == 1


def test_every_report_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = run_json(capsys, "diagnose", "-r", "the loss is NaN", "-r", "the job hangs")
    assert {"loss.nan", "hang.no-progress"} <= {finding["id"] for finding in document["findings"]}


def test_a_case_with_a_key_twice_is_refused_and_a_configuration_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    case = tmp_path / "case.yaml"
    case.write_text("report: loss is NaN\nreport: it hangs\n")
    code, document = run_json(capsys, "diagnose", case)
    assert code == 2
    assert "'report'" in document["detail"]
    for name, text in (
        ("config.yaml", "learning_rate: 1e-4\nfp16: true\nper_device_train_batch_size: 4\nlearning_rate: 2e-4\n"),
        ("config.json", '{"learning_rate": 1e-4, "per_device_train_batch_size": 4, "learning_rate": 2e-4}'),
    ):
        (tmp_path / name).write_text(text)
        _, document = run_json(capsys, "diagnose", tmp_path / name)
        (told,) = document["not_understood"]
        assert told["where"] == name
        assert "'learning_rate'" in told["why"]
        assert {fact["id"]: fact["value"] for fact in document["facts"]}["lr.peak"] == 2e-4


def test_a_wrong_paradigm_is_told_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = run_json(capsys, "diagnose", "-r", "loss is NaN", "-p", "chatting")
    assert code == 2
    assert {"sft", "lora_sft", "pretraining"} <= set(document["detail"].replace(",", "").split())


def test_no_input_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = run_json(capsys, "diagnose")
    assert code == 4
    assert "--report" in document["detail"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{report: [1, 2]}", "/report"),
        ("reprot: loss is NaN\ncase: {repport: x}", "/repport"),
        ("case: {observations: [{value: 3}]}", "/observations/0/name"),
        ("case: {report: x}\nbad: [", "line"),
    ],
)
def test_a_bad_case_says_where(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str) -> None:
    case = tmp_path / "case.yaml"
    case.write_text(text)
    code, document = run_json(capsys, "diagnose", "--case", case)
    assert code == 2
    assert says in document["detail"]


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = run_json(capsys, "diagnose", "no/such/file.log")
    assert code == 2
    assert "no/such/file.log" in document["detail"]


def test_an_unknown_option_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "diagnose", "--nonsense")[0] == 2


def test_truth_beside_a_case_is_not_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    body = "id: x\ncase: {report: The third microbatch runs out of memory.}\n"
    (tmp_path / "a.yaml").write_text(body)
    (tmp_path / "b.yaml").write_text(body + "truth: {family: lr_too_high, cause: none of it}\n")
    assert run_json(capsys, "diagnose", tmp_path / "a.yaml") == run_json(capsys, "diagnose", tmp_path / "b.yaml")


def test_standard_input_and_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO((DEMO / "train.log").read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin)
    code, document = run_json(capsys, "diagnose", "-", "-f", "run.precision=fp16")
    assert code == 1
    assert "loss.nan" in {finding["id"] for finding in document["findings"]}


def test_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["diagnose", DEMO / "case.json", DEMO / "train.log", "--why-not"]
    code, document = run_json(capsys, *arguments, "optimization/lr-too-high")
    assert code == 0
    assert document["cause"] == "optimization/lr-too-high"
    assert run_json(capsys, *arguments, "no/cause")[0] == 2


def test_calculators(capsys: pytest.CaptureFixture[str]) -> None:
    code, memory = run_json(capsys, "calc", "memory", "--parameters", "7B", "--gpus", 8)
    assert code == 0
    assert memory["per_card"]["total_gb"] == 112.0
    numbers = ["--data-parallel", 8, "--microbatch", 4, "--sequence-length", 2048, "--accumulation", 8]
    _, tokens = run_json(capsys, "calc", "tokens", *numbers)
    assert tokens["figures"]["input_tokens_per_update"] == 524288
    code, problem = run_json(capsys, "calc", "memory", "--parameters", "7", "--gpus", 8)
    assert code == 2
    assert "--parameters" in problem["detail"]


def test_diagnose_loads_no_face(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom api.cli import main\n"
        "try: main(['diagnose', '-r', 'loss is NaN', '--json'])\nexcept SystemExit: pass\n"
        "heavy = {'fastapi', 'starlette', 'uvicorn', 'sqlalchemy', 'alembic', 'httpx2', 'prometheus_client',"
        " 'slack_bolt', 'mcp', 'hypothesis'} & {name.split('.')[0] for name in sys.modules}\n"
        "heavy |= {'engine.evidence.readers', 'yaml', 'hyperscan'} & sys.modules.keys()\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_an_internal_error_is_not_found(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.cli.diagnose.load_knowledge", lambda **_: 1 / 0)
    code, out, _ = run(capsys, "diagnose", "-r", "loss is NaN", "--json")
    assert code == 70
    assert json.loads(out)["title"] == "internal error"


def test_kb_new_makes_what_lint_accepts_and_test_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = tmp_path / "kb"
    shutil.copytree(GOLDEN, root)
    made = ["kb", "new", "numerics/brand-new", "--family", "fp16_range", "--with-mechanism", "--root", root]
    code, out, _ = run(capsys, *made, "--title", "A brand new fault", "--title-zh", "全新的故障")
    assert code == 0
    assert len(out.splitlines()) == 4
    code, issues = run_json(capsys, "kb", "lint", "--errors-only", "--root", root)
    assert (code, issues) == (0, [])
    code, results = run_json(capsys, "kb", "test", "--only", "brand-new", "--root", root)
    assert len(results) >= 3
    assert code == 0, [result for result in results if result["failures"]]


def test_kb_explain_and_stats(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "kb", "explain", "loss.spike")
    assert code == 0
    assert out.startswith("#")
    assert run(capsys, "kb", "explain", "no.such-thing")[0] == 2
    code, numbers = run_json(capsys, "kb", "stats")
    assert numbers["objects"]["facts"] > 200


def test_kb_score_needs_incidents(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, problem = run_json(capsys, "kb", "score", tmp_path)
    assert code == 2
    assert "no *.yaml incident" in problem["detail"]


def test_kb_score_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    body = "id: {i}\ncase: {{report: '{report}'}}\ntruth: {{family: {family}, difficulty: easy}}\n"
    (tmp_path / "a.yaml").write_text(body.format(i="a", report="nothing to see", family="fp16_range"))
    _, tables = run_json(capsys, "kb", "score", tmp_path)
    assert tables["all"]["all"]["count"] == 1
    assert tables["all"]["all"]["top1"] == 0.0
    assert tables["all"]["all"]["abstained"] == 1.0


@pytest.mark.parametrize("name", ["fifo", "folder"])
def test_a_case_is_a_regular_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    code, document = run_json(capsys, "diagnose", "--case", tmp_path / name)
    assert code == 2
    assert "regular file" in document["detail"]


def test_what_cannot_be_read_is_no_all_clear(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(bytes(range(256)) * 40)
    assert run_json(capsys, "diagnose", tmp_path / "run.log")[0] == 3
    assert run_json(capsys, "diagnose", "-r", "hello world")[0] == 3


def test_a_file_name_that_is_no_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name = os.fsdecode(b"bad\xffname.log")
    (tmp_path / name).write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    code, document = run_json(capsys, "diagnose", tmp_path)
    assert code == 1
    assert "oom.cuda" in {finding["id"] for finding in document["findings"]}
