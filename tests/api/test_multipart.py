"""Multipart bodies that are cut off, repeated, empty, or named oddly."""

import pytest
from starlette.testclient import TestClient

URL = "/v1/diagnoses"
FORM = {"Content-Type": "multipart/form-data; boundary=x"}


def part(name: str, content: str, filename: str = "") -> str:
    named = f'; filename="{filename}"' if filename else ""
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n{content}\r\n'


WHOLE = part("case", "report: the loss is NaN") + part("files", "step 1", "a.log") + part("files", "step 2", "b.log")
CLOSED = WHOLE + "--x--\r\n"


@pytest.mark.parametrize("end", ["--x--", "--x--\r\n", "--x--\r\nsomething after it"])
def test_a_complete_body(client: TestClient, end: str) -> None:
    response = client.post(URL, content=WHOLE + end, headers=FORM)
    assert response.status_code == 200
    assert [file.get("name") for file in response.json()["coverage"]["read"]][:2] == ["a.log", "b.log"]


@pytest.mark.parametrize("length", [*range(1, len(CLOSED) - 5, 17), len(WHOLE), len(WHOLE) + 2, len(WHOLE) + 3])
def test_a_body_cut_off_anywhere_is_refused(client: TestClient, length: int) -> None:
    response = client.post(URL, content=CLOSED[:length], headers=FORM)
    assert response.status_code == 400
    assert response.json()["type"] == "/problems/bad-multipart"


def test_what_is_wrong_is_said(client: TestClient) -> None:
    response = client.post(URL, content=WHOLE, headers=FORM)
    assert "ends before its closing boundary" in response.json()["detail"]
    assert "结束分隔符" in client.post(URL, content=WHOLE, headers={**FORM, "Accept-Language": "zh"}).json()["detail"]


def test_a_cut_off_body_does_not_use_up_its_key(client: TestClient) -> None:
    headers = {**FORM, "Idempotency-Key": "cut-off"}
    assert client.post(URL, content=WHOLE, headers=headers).status_code == 400
    assert client.post(URL, content=CLOSED, headers=headers).status_code == 200


def test_names_are_labels_and_stand_for_one_file_each(client: TestClient) -> None:
    names = ["train.log", "../../train.log", "/etc/passwd", "..", "a\\train.log", "", "\u202egol.niart", "file-6"]
    files = [("files", (name, b"step 1")) for name in names if name]
    read = client.post(URL, files=files).json()["coverage"]["read"][:-1]
    assert [file["name"] for file in read] == [
        "train.log", "train.log (2)", "passwd", "..", "train.log (3)", "gol.niart", "file-6",
    ]  # fmt: skip


def test_files_that_are_all_empty_are_nothing(client: TestClient) -> None:
    response = client.post(URL, files=[("files", ("a.log", b"")), ("files", ("b.log", b""))])
    assert response.status_code == 400
    assert response.json()["type"] == "/problems/empty-case"
    assert "Every uploaded file is empty" in response.json()["detail"]


def test_an_empty_file_beside_something_is_read(client: TestClient) -> None:
    response = client.post(URL, files=[("files", ("a.log", b"")), ("files", ("b.log", b"step 1"))])
    assert [file["bytes"] for file in response.json()["coverage"]["read"][:2]] == [0, 6]


def test_2000_files(client: TestClient) -> None:
    response = client.post(URL, files=[("files", (f"{n}.log", b"x")) for n in range(2_000)])
    assert response.status_code == 413
    assert "64 files" in response.json()["detail"]


def test_2000_fields(client: TestClient) -> None:
    response = client.post(URL, content="".join(part("files", "x") for _ in range(2_000)) + "--x--\r\n", headers=FORM)
    assert response.status_code == 413
