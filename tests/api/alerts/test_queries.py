"""The file of queries: what it may say, and how labels get into a query."""

from pathlib import Path

import pytest

from api.alerts.queries import QueriesError, SeriesQuery, load

GOOD = """
window_minutes: 10
queries:
  - series: loss
    query: 'train_loss{job="{job}", instance!="{instance}"}'
    alerts: [LossNaN]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "queries.yaml"
    path.write_text(text)
    return path


def test_a_file_of_queries(tmp_path: Path) -> None:
    queries = load(write(tmp_path, GOOD))
    assert (queries.tenant, queries.window_minutes, queries.step_seconds) == ("default", 10, 15)
    assert queries.queries[0].alerts == ("LossNaN",)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("node7", '"node7"'),
        ('a"b', r'"a\"b"'),
        ("a\\", r'"a\\"'),
        ('"} or vector(1) #', r'"\"} or vector(1) #"'),
        ("a\nb", r'"a\nb"'),
        ("{job}", '"{job}"'),
        ("节点", '"节点"'),
        ("\x00", r'"\u0000"'),
    ],
)
def test_a_label_is_a_string_whatever_is_in_it(value: str, written: str) -> None:
    query = SeriesQuery(series="loss", query='x{a="{instance}", b="{job}"} / 2')
    assert query.filled({"instance": value, "job": "j"}) == f'x{{a={written}, b="j"}} / 2'


@pytest.mark.parametrize("labels", [{}, {"instance": ""}, {"Instance": "x"}])
def test_a_query_whose_label_is_missing_is_not_asked(labels: dict[str, str]) -> None:
    assert SeriesQuery(series="loss", query='x{a="{instance}"}').filled(labels) is None


def test_braces_that_are_no_label_stay() -> None:
    query = 'sum by (gpu) (rate(x{job="train", n=~"a|b"}[5m]))'
    assert SeriesQuery(series="loss", query=query).filled({}) == query


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("queries: [", "line"),
        ("queries: []", "queries"),
        ("[]", "file"),
        ("window_minutes: 10", "queries"),
        (GOOD + "more: 1", "more"),
        (GOOD.replace("loss\n", "nonsense_metric\n"), "nonsense_metric"),
        (GOOD.replace('="{job}"', '=~"{job}"'), "="),
        (GOOD.replace('"{job}"', '"pre-{job}"'), "alone"),
        (GOOD.replace('"{job}"', '"{job}.*"'), "alone"),
        (GOOD.replace("10", "0"), "window_minutes"),
        (GOOD + "step_seconds: 0.1", "step_seconds"),
        (GOOD.replace("10", "1000"), "points"),
        (GOOD + "tenant: *a", "line"),
        ("queries:\n  - series: loss\n    query: \"x{a='{job}'}\"", "double quotes"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(QueriesError) as caught:
        load(write(tmp_path, text))
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(QueriesError, match="cannot be read"):
        load(tmp_path / "none.yaml")
