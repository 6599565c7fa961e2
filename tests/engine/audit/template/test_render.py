"""Rendering happens in a process with limits; whatever a template does, it ends in an answer."""

from __future__ import annotations

import pytest

from engine.audit.template.render import Renderer, Rendering, UnrenderedError, render

MESSAGES = {"messages": [{"role": "user", "content": "<é>"}], "add_generation_prompt": False}


@pytest.fixture(autouse=True)
def _less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too much of two seconds takes too much of a third of one as well."""
    monkeypatch.setattr("engine.audit.template.render.CPU_SECONDS_EACH", 0.3)
    monkeypatch.setattr("engine.audit.template.render.CPU_SECONDS_ALL", 1)


def one(template: str) -> Rendering:
    return render(template, [MESSAGES])[0]


def test_blocks_are_trimmed_as_transformers_does() -> None:
    assert (
        one("{% for m in messages %}\n  {% if true %}\n{{ m.content }}\n  {% endif %}\n{% endfor %}\n").text == "<é>\n"
    )


def test_json_is_neither_escaped_nor_ascii() -> None:
    assert one("{{ messages | tojson }}").text == '[{"role": "user", "content": "<é>"}]'


def test_loops_can_be_left_and_answers_marked() -> None:
    text = "{% for m in messages %}{% generation %}{{ m.role }}{% endgeneration %}{% break %}{% endfor %}"
    assert one(text).text == "user"


def test_the_date_is_always_the_same() -> None:
    assert one("{{ strftime_now('%Y-%m-%d') }}").text == "2024-07-26"


def test_a_refusal_is_no_error() -> None:
    assert one("{{ raise_exception('only users') }}") == Rendering(refused="only users")


def test_every_conversation_has_its_own_answer() -> None:
    renderings = [MESSAGES, {"messages": []}]
    found = render("{{ messages[0].content if messages else raise_exception('empty') }}", renderings)
    assert found == [Rendering(text="<é>"), Rendering(refused="empty")]


def test_what_does_not_compile_is_the_answer_to_all() -> None:
    found = render("{% if %}", [MESSAGES, MESSAGES])
    assert found[0] == found[1]
    assert found[0].error is not None
    assert "line 1" in found[0].error


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ messages.append(1) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
    ],
)
def test_nothing_outside_the_template_can_be_reached(template: str) -> None:
    assert one(template).error is not None


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ 'a' * 1000000000 }}", "MiB"),
        ("{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}", "MiB"),
        ("{% for i in range(9999) %}{{ 'a' * 9999 }}{% endfor %}", "characters"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "end"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "s"),
        ("{{ range(999999999) | list }}", ""),
        ("{{ 9 ** (9 ** 9) }}", "compile"),
        ("(" * 100 + "{{" + "(" * 5000 + ")" * 5000 + "}}", ""),
    ],
)
def test_a_template_cannot_take_more_than_it_may(template: str, why: str) -> None:
    error = one(template).error
    assert error is not None
    assert why in error


def test_a_conversation_that_ends_the_process_leaves_the_earlier_answers() -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    found = render("{% if not messages %}" + loop + "{% endif %}ok", [MESSAGES, {"messages": []}, MESSAGES])
    assert found[0] == Rendering(text="ok")
    assert found[1].error is not None
    assert found[2].error is not None


def test_a_system_without_time_says_nothing_of_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.audit.template.render.WALL_SECONDS", 0.0)
    with pytest.raises(UnrenderedError):
        render("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", [MESSAGES])


def test_a_process_that_was_started_before_renders_once() -> None:
    renderer = Renderer()
    assert render("{{ messages[0].role }}", [MESSAGES], renderer) == [Rendering(text="user")]


def test_a_process_that_was_started_for_nothing_ends_with_its_owner() -> None:
    renderer = Renderer()
    process = renderer._process
    del renderer
    assert process.returncode is not None
