"""``/v1/audits`` as shipped: by path below the allowed roots, or with the files; kept, and read again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.audits import Audit
from api.settings import Settings
from api.store import AuditLimits, AuditStore, Store
from engine.knowledge.knowledge import Knowledge
from tests.api.conftest import a_client
from tests.api.fake_engine import SOURCE
from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.given import Given


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """A healthy release below the root, and one whose weights were cut off; a secret beside the root."""
    root = tmp_path_factory.mktemp("disk") / "root"
    root.mkdir()
    given = causal_lm(root)
    (root / "intent.json").write_text(json.dumps(given.intent))
    cut = causal_lm(root / "cut").root / "model.safetensors"
    cut.write_bytes(cut.read_bytes()[:-1000])
    (root.parent / "secret").mkdir()
    (root.parent / "secret" / "config.json").write_text("{}")
    (root / "empty").mkdir()
    (root / "link").symlink_to(root.parent / "secret")
    return given


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store") / "store.db"


@pytest.fixture(scope="module")
def service(given: Given, store: Path) -> Iterator[TestClient]:
    """A service that may audit what lies below the root."""
    settings = Settings(store_url=f"sqlite:///{store}", audit_roots=(given.root.parent,), log_level="error")
    with a_client(create_app(settings)) as client:
        yield client


def parts(given: Given, *more: tuple[str, tuple[str, bytes]]) -> list[tuple[str, tuple[str, bytes]]]:
    """The files of the release as parts of an upload."""
    found = sorted(path for path in given.root.rglob("*") if path.is_file())
    return [("files", (path.relative_to(given.root).as_posix(), path.read_bytes())) for path in found] + list(more)


def test_by_path_and_read_again(service: TestClient) -> None:
    made = service.post("/v1/audits", json={"path": "cut/model"})
    assert made.status_code == 201
    audit = made.json()
    assert made.headers["Location"] == f"/v1/audits/{audit['id']}"
    assert audit["verdict"] == "fail"
    assert service.get(made.headers["Location"]).json() == audit


def test_as_a_page_and_in_the_other_language(service: TestClient) -> None:
    made = service.post("/v1/audits", json={"path": "cut/model"}, headers={"Accept-Language": "zh"})
    assert made.headers["Content-Language"] == "zh"
    assert made.json()["summary"].startswith("不通过")
    address = made.headers["Location"]
    page = service.get(address, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Vary"] == "Accept, Accept-Language"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert '<html lang="en">' in page.text
    assert '<html lang="zh">' in service.get(f"{address}?lang=zh", headers={"Accept": "text/html"}).text
    assert service.get(address, headers={"Accept": "*/*"}).json()["summary"].startswith("Fail")
    assert service.get(address, headers={"Accept": "text/html;q=0.5, application/json"}).json()["id"] in address


@pytest.mark.parametrize("intent", ["intent.json", "a document"])
def test_the_intent_is_a_file_or_a_document(service: TestClient, given: Given, intent: Any) -> None:
    sent = intent if intent.endswith(".json") else {**given.intent, "mistyped": 1}
    audit = service.post("/v1/audits", json={"path": str(given.root), "intent": sent, "base": "base"}).json()
    assert audit["paradigm"] == "sft"
    assert [gate["id"] for gate in audit["gates"] if gate["status"] == "fail"] == []
    assert audit["not_understood"] == ([] if sent == intent else ["mistyped"])


def test_an_upload_is_audited_like_the_folder(service: TestClient, given: Given) -> None:
    by_path = service.post("/v1/audits", json={"path": "model", "intent": "intent.json"}).json()
    base = [("base", (path.name, path.read_bytes())) for path in sorted((given.root.parent / "base").iterdir())]
    sent = service.post("/v1/audits", files=parts(given, *base), data={"intent": json.dumps(given.intent)})
    assert sent.status_code == 201
    uploaded = sent.json()
    assert uploaded.pop("id") != by_path.pop("id")
    assert uploaded == by_path


def test_an_upload_keeps_folders(service: TestClient) -> None:
    files = [("files", ("config.json", b"{}")), ("files", ("a/b/c.txt", b"1")), ("files", ("a\\d.txt", b"2"))]
    audit = service.post("/v1/audits", files=files).json()
    assert [file["path"] for file in audit["files"]] == ["a/b/c.txt", "a/d.txt", "config.json"]


@pytest.mark.parametrize(
    ("body", "status", "slug", "pointer"),
    [
        ({"path": "/etc"}, 403, "outside-roots", None),
        ({"path": "../secret"}, 403, "outside-roots", None),
        ({"path": "link"}, 403, "outside-roots", None),
        ({"path": "../no-such"}, 403, "outside-roots", None),  # says nothing of what is there
        ({"path": "model", "base": "/etc"}, 403, "outside-roots", None),
        ({"path": "model", "evals": "../secret"}, 403, "outside-roots", None),
        ({"path": "model", "intent": "../secret/config.json"}, 403, "outside-roots", None),
        ({"path": "nowhere"}, 422, "invalid-input", "/path"),
        ({"path": "intent.json"}, 422, "invalid-input", "/path"),
        ({"path": "empty"}, 422, "invalid-input", "/path"),
        ({"path": "model", "base": "nowhere"}, 422, "invalid-input", "/base"),
        ({"path": "model", "intent": "nowhere"}, 422, "invalid-input", "/intent"),
        ({"path": "model", "intent": {"targets": 3}}, 422, "invalid-input", "/intent"),
        ({"path": "model", "intent": 3}, 422, "invalid-input", "/intent"),
        ({"path": "model", "policy": "no-such"}, 422, "invalid-input", "/policy"),
        ({"path": "mod\0el"}, 422, "invalid-input", "/path"),
        ({"path": "x" * 5_000}, 422, "invalid-input", "/path"),
        ({"path": "x" * 4_000}, 422, "invalid-input", "/path"),
        ({"pth": "model"}, 422, "invalid-input", "/path"),
        ({}, 422, "invalid-input", "/path"),
    ],
)
def test_bad_requests(service: TestClient, body: Any, status: int, slug: str, pointer: str | None) -> None:
    answer = service.post("/v1/audits", json=body)
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (status, f"/problems/{slug}")
    if pointer is not None:
        assert problem["errors"][0]["pointer"].startswith(pointer)


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a/" * 20 + "x", "x" * 300, "..", "."])
def test_names_that_lead_out_are_refused(service: TestClient, name: str) -> None:
    answer = service.post("/v1/audits", files=[("files", (name, b"1"))])
    assert answer.status_code == 422
    assert answer.json()["type"] == "/problems/invalid-input"


@pytest.mark.parametrize(
    "files",
    [
        [("files", ("x", b"1")), ("files", ("x", b"2"))],
        [("files", ("a", b"1")), ("files", ("a/b", b"2"))],
        [("files", ("a/b", b"1")), ("files", ("a", b"2"))],
        [("base", ("x", b"1"))],
        [("file", ("x", b"1"))],
    ],
    ids=["twice", "below a file", "in place of a folder", "no checkpoint", "unknown part"],
)
def test_uploads_that_make_no_folder(service: TestClient, files: Any) -> None:
    assert service.post("/v1/audits", files=files).status_code == 422


def test_an_uploaded_intent_reads_nothing_of_this_machine(service: TestClient, given: Given) -> None:
    intent = {**given.intent, "base_reference": str(given.base), "evidence": {"generations": "/etc/passwd"}}
    sent = service.post("/v1/audits", files=parts(given), data={"intent": json.dumps(intent)})
    assert sent.status_code == 201
    known = {fact: value for gate in sent.json()["gates"] for fact, value in gate["facts"].items()}
    assert known.get("audit.base_given") is not True
    assert "root:" not in sent.text


def test_without_roots_no_path_is_read(tmp_path: Path, given: Given) -> None:
    settings = Settings(store_url=f"sqlite:///{tmp_path}/store.db", log_level="error")
    with a_client(create_app(settings, source=SOURCE)) as client:
        answer = client.post("/v1/audits", json={"path": str(given.root)})
        assert answer.status_code == 403
        assert "TRAINTRIAGE_AUDIT_ROOTS" in answer.json()["detail"]


def test_an_unknown_id(service: TestClient) -> None:
    answer = service.get("/v1/audits/none")
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-audit")


def test_a_key_gives_the_same_audit(service: TestClient, store: Path) -> None:
    headers = {"Idempotency-Key": "one-audit"}
    first = service.post("/v1/audits", json={"path": "cut/model"}, headers=headers)
    again = service.post("/v1/audits", json={"path": "cut/model"}, headers=headers)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (again.status_code, again.headers["Location"], again.json()) == (
        201,
        first.headers["Location"],
        first.json(),
    )
    with closing(sqlite3.connect(store)) as database:
        (count,) = database.execute("SELECT count(*) FROM audits WHERE id = ?", [first.json()["id"]]).fetchone()
    assert count == 1


def test_an_audit_that_takes_too_long_is_ended(tmp_path: Path, given: Given) -> None:
    settings = Settings(
        store_url=f"sqlite:///{tmp_path}/store.db",
        audit_roots=(given.root.parent,),
        audit_seconds=0.001,
        log_level="error",
    )
    with a_client(create_app(settings, source=SOURCE)) as client:
        answer = client.post("/v1/audits", json={"path": "model"})
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/audit-timeout")
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(("limits", "left"), [(AuditLimits(2, 10**9), "bc"), (AuditLimits(9, 1), "c")])
def test_the_oldest_audits_go_first(store_url: str, limits: AuditLimits, left: str) -> None:
    async def kept() -> str:
        store = Store(store_url)
        await store.start()
        clock = count()
        audits = AuditStore(store, limits, lambda: float(next(clock)))
        for name in "abc":
            await audits.keep("t", name, {"en": name.encode(), "zh": b"zh"})
        found = [name for name in "abc" if await audits.get("t", name, "en") == name.encode()]
        await store.close()
        return "".join(found)

    assert asyncio.run(kept()) == left


def test_the_example_is_a_failed_audit_by_gates_there_are(knowledge: Knowledge) -> None:
    example = Audit.model_validate_json((files("api") / "static" / "audit" / "example.json").read_bytes())
    assert example.verdict == "fail"
    assert {gate.id for gate in example.gates} <= set(knowledge.gates)
