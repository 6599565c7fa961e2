"""Every error is a problem document that helps, and tells nothing it should not."""

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from api import messages
from api.problems import KINDS
from tests.api.conftest import REPORT
from tests.api.fake_engine import SECRET

DIAGNOSES = "/v1/diagnoses"
JSON = {"Content-Type": "application/json"}
YAML = {"Content-Type": "application/yaml"}
FORM = {"Content-Type": "multipart/form-data; boundary=x"}
TOKENS = "/v1/calculators/tokens-per-update"
LONG = "s3cret" * 50_000


def post(content: str | bytes, headers: dict[str, str] = JSON, url: str = DIAGNOSES) -> dict[str, Any]:
    return {"method": "POST", "url": url, "content": content, "headers": headers}


def case(**keys: Any) -> dict[str, Any]:
    return post(json.dumps(keys))


CASES: dict[str, tuple[dict[str, Any], int, str, str]] = {
    # name: request, status, slug, words that the detail must have
    "no such path": ({"method": "GET", "url": "/nothing"}, 404, "not-found", "/docs"),
    "no such problem": ({"method": "GET", "url": "/problems/nothing"}, 404, "not-found", "kind"),
    "no such cause": ({"method": "GET", "url": "/v1/causes/a/b"}, 404, "unknown-id", "/v1/causes"),
    "no such pipeline": ({"method": "GET", "url": "/v1/pipeline?paradigm=any"}, 404, "unknown-id", "paradigm"),
    "why-not of nothing": (post('{"report":"x"}', url=DIAGNOSES + "/why-not?cause=a/b"), 404, "unknown-id", "cause"),
    "no such method": ({"method": "DELETE", "url": DIAGNOSES}, 405, "method-not-allowed", "Allow"),
    "TRACE": ({"method": "TRACE", "url": "/healthz"}, 405, "method-not-allowed", "Allow"),
    "broken JSON": (post('{"report": \n oops}'), 400, "bad-json", "Line 2, column 2"),
    "no body": (post(""), 400, "empty-case", "report"),
    "blank body": (post(" \n"), 400, "empty-case", "report"),
    "not UTF-8": (post(b'{"report": "\xff"}'), 400, "bad-json", "UTF-8"),
    "half a character": (post('{"report": "\\ud800"}'), 400, "bad-json", "half"),
    "repeated key": (post('{"report": "a", "report": "b"}'), 400, "bad-json", '"report" stands twice'),
    "endless number": (post('{"facts": {"a.b": ' + "1" * 5000 + "}}"), 400, "bad-json", "4,300"),
    "broken YAML": (post("report: a\nlog: [", YAML), 400, "bad-yaml", "Line 3"),
    "YAML alias": (post("report: &a x\nlog: [*a]", YAML), 400, "bad-yaml", "Line 2"),
    "YAML tag": (post("report: !!python/object:os.system x", YAML), 400, "bad-yaml", "Line 1"),
    "empty object": (case(), 400, "empty-case", "observations"),
    "only a paradigm": (case(paradigm="sft"), 400, "empty-case", "observations"),
    "blank report": (case(report="  "), 400, "empty-case", "observations"),
    "empty form": (post(b"--x--\r\n", FORM), 400, "empty-case", "files"),
    "form without boundary": (post("x", {"Content-Type": "multipart/form-data"}), 400, "bad-multipart", "boundary"),
    "form with other boundary": (post("--y\r\n", FORM), 400, "bad-multipart", "boundary"),
    "wrong media type": (post("<a/>", {"Content-Type": "application/xml"}), 415, "unsupported-media-type", "json"),
    "no media type": (post('{"report":"x"}', {}), 415, "unsupported-media-type", "application/yaml"),
    "form to a calculator": (post("x", FORM, TOKENS), 415, "unsupported-media-type", "application/json"),
    "a list": (post("[]"), 422, "invalid-input", "object"),
    "null": (post("null"), 422, "invalid-input", "object"),
    "wrong type": (case(report=5), 422, "invalid-input", "body /report"),
    "wrong type inside": (case(observations=[{"name": 5}]), 422, "invalid-input", "body /observations/0/name"),
    "number in quotes": (case(series=[{"name": "l", "values": [], "steps": ["1"]}]), 422, "invalid-input", "/steps/0"),
    "missing": (case(observations=[{"value": 5}]), 422, "invalid-input", "required value is missing. Add it."),
    "misspelt": (case(observation=[]), 422, "invalid-input", "'observations'"),
    "misspelt inside": (case(observations=[{"name": "a", "vlaue": 1}]), 422, "invalid-input", "'value'"),
    "unknown paradigm": (case(paradigm="magic"), 422, "invalid-input", "'sft'"),
    "long report": (case(report=LONG), 422, "invalid-input", "at most 200000 characters"),
    "50,000 observations": (case(observations=[{"name": "a"}] * 50_000), 422, "invalid-input", "at most 2000 entries"),
    "10 MB report": (case(report="x" * 10_000_000), 413, "too-large", "8,388,608 bytes"),
    "2 MB of YAML": (post("report: " + "x" * 2_000_000, YAML), 413, "too-large", "1,048,576 bytes"),
    "deep nesting": (post('{"facts": ' + '{"a":' * 99 + "1" + "}" * 100), 422, "too-deep", "64"),
    "very deep nesting": (post("[" * 200_000), 422, "too-deep", "64"),
    "limit of 0": (post('{"report":"x"}', url=DIAGNOSES + "?limit=0"), 422, "invalid-input", "query /limit"),
    "limit of 51": (post('{"report":"x"}', url=DIAGNOSES + "?limit=51"), 422, "invalid-input", "at most 50"),
    "unknown language": (post('{"report":"x"}', url=DIAGNOSES + "?lang=fr"), 422, "invalid-input", "query /lang"),
    "unknown parameter": (post('{"report":"x"}', url=DIAGNOSES + "?limt=3"), 422, "invalid-input", "query /limt"),
    "why-not without cause": (post('{"report":"x"}', url=DIAGNOSES + "/why-not"), 422, "invalid-input", "query /cause"),
    "bad status": ({"method": "GET", "url": "/v1/causes?status=new"}, 422, "invalid-input", "'stable'"),
    "huge offset": ({"method": "GET", "url": "/v1/facts?offset=99999999"}, 422, "invalid-input", "query /offset"),
    "bad key": (post('{"report":"x"}', {**JSON, "Idempotency-Key": "a b"}), 422, "invalid-input", "header /Idem"),
    "empty calculation": (post("{}", url=TOKENS), 422, "invalid-input", "sequence_length"),
    "contradiction": (post('{"sequence_length": 8, "microbatch": 1}', url=TOKENS), 422, "invalid-input", "exactly one"),
    "NaN to calculate": (post('{"sequence_length": NaN, "microbatch": 1}', url=TOKENS), 422, "invalid-input", "/seq"),
    "engine failure": (case(report="explode"), 500, "internal", "log"),
    "engine failure on a large case": (case(report="explode", log=["x" * 100] * 1000), 500, "internal", "log"),
    "reader crash": (case(report="crash the process", log=["x" * 100] * 1000), 500, "internal", "log"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_problem(client: TestClient, name: str) -> None:
    request, status, slug, words = CASES[name]
    response = client.request(**request)
    assert response.status_code == status, response.text[:500]
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    required = {"type", "title", "status", "detail", "request_id"}
    assert required <= set(document) <= required | {"errors"}
    assert document["type"] == f"/problems/{slug}"
    assert document["status"] == status
    assert document["request_id"] == response.headers["x-request-id"]
    assert words in document["detail"] + json.dumps(document.get("errors", ""))
    assert len(response.content) < 5_000
    for private in (SECRET, "s3cret", "Traceback", ".py"):
        assert private not in response.text
    for error in document.get("errors", ()):
        assert set(error) == {"part", "pointer", "reason", "send"}
        assert error["part"] in {"body", "query", "header", "path"}
        assert error["pointer"] == "" or error["pointer"].startswith("/")
        assert error["reason"]
        assert error["send"]
    page = client.get(document["type"])
    assert page.status_code == 200
    assert document["title"].replace("'", "&#x27;") in page.text


@pytest.mark.parametrize("name", CASES)
def test_problem_in_chinese(client: TestClient, name: str) -> None:
    request, status, slug, _ = CASES[name]
    english = client.request(**request)
    response = client.request(**{**request, "headers": {**request.get("headers", {}), "Accept-Language": "zh"}})
    assert (response.status_code, english.status_code) == (status, status)
    assert (english.headers["content-language"], response.headers["content-language"]) == ("en", "zh")
    assert response.headers["vary"] == "Accept-Language"
    assert response.json()["title"] == KINDS[slug].title.zh
    for text in (response.json()["title"], response.json()["detail"]):
        assert re.search(r"[\u4e00-\u9fff]", text), text
    for text in (english.json()["title"], english.json()["detail"]):
        assert not re.search(r"[\u4e00-\u9fff]", text), text


def test_the_language_parameter_wins(client: TestClient) -> None:
    response = client.post(f"{DIAGNOSES}?lang=zh", content="{", headers={**JSON, "Accept-Language": "en"})
    assert (response.headers["content-language"], response.json()["title"]) == ("zh", "JSON 无法读取")


def test_every_message_has_the_same_blanks_in_both_languages() -> None:
    for key, message in messages._MESSAGES.items():
        blanks = [re.findall(r"\{(\w+)", text) for text in (message.en, message.zh)]
        used = {name for names in blanks for name in names}
        # A sentence may leave out what only the other language needs, but never name what the other does not have.
        assert set(blanks[1]) <= set(blanks[0]) == used, key


def test_every_kind_of_problem_has_a_page(client: TestClient) -> None:
    for slug, kind in KINDS.items():
        assert kind.title.en in client.get(f"/problems/{slug}").text
        page = client.get(f"/problems/{slug}", headers={"Accept-Language": "zh-CN"})
        assert kind.title.zh in page.text
        assert kind.meaning.zh in page.text
        assert page.headers["content-language"] == "zh"
        assert '<html lang="zh">' in page.text


def test_allow_header(client: TestClient) -> None:
    assert client.delete("/v1/diagnoses").headers["allow"] == "POST"


def test_the_service_goes_on_after_the_reading_process_crashed(client: TestClient) -> None:
    large = {"log": ["x" * 100] * 1000}
    assert client.post(DIAGNOSES, json={"report": "crash the process", **large}).status_code == 500
    assert client.post(DIAGNOSES, json=large).status_code == 200


def test_many_errors_are_cut(client: TestClient) -> None:
    response = client.post(DIAGNOSES, json={"observations": [{"value": 1}] * 2_000})
    assert len(response.json()["errors"]) == 20


def test_long_keys_are_cut_and_escaped(client: TestClient) -> None:
    response = client.post(DIAGNOSES, json={"a/~" + "k" * 10_000: 1, "report": "x"})
    assert response.json()["errors"][0]["pointer"].startswith("/a~1~0kkk")
    assert len(response.content) < 2_000


def test_pages_of_too_large_bodies_count_what_arrives(client: TestClient) -> None:
    def chunks() -> Any:
        for _ in range(9):
            yield b" " * 1_048_576

    response = client.post(DIAGNOSES, content=chunks(), headers=JSON)
    assert "content-length" not in response.request.headers
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"


def test_chunked_uploads_are_counted_too(client: TestClient) -> None:
    def chunks() -> Any:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.log"\r\n\r\n'
        for _ in range(65):
            yield b"a" * 1_048_576

    response = client.post(DIAGNOSES, content=chunks(), headers=FORM)
    assert response.status_code == 413
    assert "67,108,864" in response.json()["detail"]


def test_too_many_files(client: TestClient) -> None:
    files = [("files", (f"{n}.log", b"x")) for n in range(65)]
    response = client.post(DIAGNOSES, files=files)
    assert response.status_code == 413
    assert "64 files" in response.json()["detail"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([("case", (None, "{}")), ("case", (None, "{}"))], "stands twice"),
        ([("case", (None, json.dumps(REPORT))), ("logs", ("a.log", b"x"))], "'files'"),
    ],
)
def test_parts(client: TestClient, files: Any, words: str) -> None:
    response = client.post(DIAGNOSES, files=files)
    assert response.status_code == 422
    assert words in response.json()["detail"]


def test_a_language_in_the_body_is_told_where_it_belongs(client: TestClient) -> None:
    response = client.post("/v1/diagnoses", json={"report": "loss is NaN", "lang": "zh"})
    (error,) = response.json()["errors"]
    assert (response.status_code, error["pointer"]) == (422, "/lang")
    assert "Accept-Language" in error["send"]
