"""Which of the offered types an Accept header likes best."""

from __future__ import annotations

import pytest

from api.media import preferred

JSON, HTML = "application/json", "text/html"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        (HTML, HTML),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", HTML),
        ("text/*", HTML),
        ("text/html;q=0.5, application/json", JSON),
        ("text/html; q=0.5 , application/json; q=0.4", HTML),
        ("TEXT/HTML;Q=1.0", HTML),
        ("text/html;q=nonsense", HTML),
        ("text/html;q=0, */*", JSON),
        ("image/png", JSON),
        ("application/*;q=0.3, text/html;q=0.3", JSON),
        (";;;,,,q=", JSON),
        ("a/b," * 10_000 + HTML, JSON),
    ],
)
def test_preferred(accept: str | None, chosen: str) -> None:
    assert preferred(accept, (JSON, HTML)) == chosen
