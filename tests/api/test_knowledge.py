"""The knowledge operations: lists, objects, filters, pages, languages, caching."""

import pytest
from starlette.testclient import TestClient

KINDS = ("causes", "findings", "facts", "checks", "gates", "families", "pipeline")


@pytest.mark.parametrize("kind", KINDS)
def test_lists(client: TestClient, kind: str) -> None:
    response = client.get(f"/v1/{kind}")
    assert response.status_code == 200
    assert isinstance(response.json()["items"], list)


def test_pages(client: TestClient) -> None:
    seen: list[str] = []
    url: str | None = "/v1/facts?limit=50&lang=zh"
    while url:
        page = client.get(url).json()
        assert page["total"] == 120
        seen += [item["id"] for item in page["items"]]
        url = page["next"]
    assert seen == [f"loss.value{n:03d}" for n in range(120)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["overflow", "underflow", "planned"]),
        ("?family=fp16_range", ["overflow", "underflow"]),
        ("?status=trial", ["underflow"]),
        ("?family=fp16_range&status=stable", ["overflow"]),
        ("?q=CAUSE+over", ["overflow"]),
        ("?q=bf16", ["overflow", "underflow", "planned"]),
        ("?q=原因&lang=zh", ["overflow", "underflow", "planned"]),
        ("?q=原因", []),
        ("?family=nothing", []),
    ],
)
def test_filters(client: TestClient, query: str, expected: list[str]) -> None:
    page = client.get(f"/v1/causes{query}").json()
    assert [item["id"].partition("/")[2] for item in page["items"]] == expected
    assert page["total"] == len(expected)
    assert page["next"] is None


def test_an_object_in_one_language(client: TestClient) -> None:
    cause = client.get("/v1/causes/numerics/overflow", headers={"Accept-Language": "zh"}).json()
    assert cause["title"] == "原因 overflow"
    assert cause["presentation"] == ["损失为 NaN。"]
    assert cause["remedies"][0]["do"] == "改用 bf16。"
    assert cause["shows"][0] == {"finding": "loss.nan", "how": "usually"}


@pytest.mark.parametrize("path", ["/v1/causes", "/v1/causes/numerics/overflow", "/v1/families", "/v1/pipeline"])
def test_etag(client: TestClient, path: str) -> None:
    first = client.get(path)
    etag = first.headers["etag"]
    assert etag.startswith('"')
    for sent in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = client.get(path, headers={"If-None-Match": sent})
        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["etag"] == etag
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    assert client.get(path, headers={"Accept-Language": "zh"}).headers["etag"] != etag
