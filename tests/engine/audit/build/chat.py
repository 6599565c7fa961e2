"""Healthy chat models in the formats of several families, made from the tiny Llama by other templates and tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engine.audit.build.causal_lm import release, then_summed
from tests.engine.audit.build.tokenizer import END, SPECIALS, TURN
from tests.engine.audit.given import Given

BOS = "<|begin|>"


def with_template(text: str, **settings: Any) -> Callable[[Given], None]:
    """A change of the template that training used as well; ``settings`` are keys of tokenizer_config.json."""

    def change(given: Given) -> None:
        given.edit_json("tokenizer_config.json", chat_template=text, **settings)
        given.intent["chat"]["training_template_sha256"] = hashlib.sha256(text.encode()).hexdigest()

    return then_summed(change)  # type: ignore[return-value]


def edit(path: Path, change: Callable[[Any], None]) -> None:
    """Change the value of a JSON file in place."""
    value = json.loads(path.read_text("utf-8"))
    change(value)
    path.write_text(json.dumps(value), "utf-8")


def rename(root: Path, names: dict[str, str]) -> None:
    """Other texts for the special tokens, in every file."""
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        text = (root / name).read_text("utf-8")
        for old, new in names.items():
            text = text.replace(json.dumps(old), json.dumps(new))
        (root / name).write_text(text, "utf-8")


def begin_lm(folder: Path) -> Given:
    """A family with a begin token, which the template writes and plain encoding adds."""
    given = release(folder)
    text = (
        "{{ bos_token }}{% for message in messages %}{{ '### ' + message['role'] + '\\n' + message['content'] | trim"
        " + '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '### assistant\\n' }}{% endif %}"
    )
    for root in (given.root, folder / "base"):
        rename(root, {TURN: BOS})
        edit(root / "tokenizer.json", lambda value: value.update(post_processor=begin_processor()))
        for name in ("tokenizer_config.json", "special_tokens_map.json"):
            edit(root / name, lambda value: value.update(bos_token=BOS))
        edit(root / "config.json", lambda value: value.update(bos_token_id=SPECIALS[TURN]))
        edit(root / "generation_config.json", lambda value: value.update(bos_token_id=SPECIALS[TURN]))
    with_template(text)(given)
    return given


def begin_processor() -> dict[str, Any]:
    """A post-processor that puts the begin token in front."""
    token = {"SpecialToken": {"id": BOS, "type_id": 0}}
    first, second = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    ids = {BOS: {"id": BOS, "ids": [SPECIALS[TURN]], "tokens": [BOS]}}
    return {
        "type": "TemplateProcessing",
        "single": [token, first],
        "pair": [token, first, second],
        "special_tokens": ids,
    }


def close_at_next_role_lm(folder: Path) -> Given:
    """An answer is closed by the marker of the next turn; this marker stops generation."""
    given = release(folder)
    rename(given.root, {END: "<|user|>", TURN: "<|assistant|>"})
    rename(folder / "base", {END: "<|user|>", TURN: "<|assistant|>"})
    given.intent["chat"]["end_of_turn_token"] = None
    text = (
        "{% for m in messages %}{{ '<|' + m['role'] + '|>\\n' + m['content'] }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
    )
    with_template(text)(given)
    return given


HEALTHY_TEMPLATES = {
    # User turns close by a marker of their own, which already asks for the answer; no system turn.
    "brackets": (
        "{% for m in messages %}{% if m['role'] == 'user' %}{{ '[ASK] ' + m['content'] + ' [/ASK]' }}"
        "{% elif m['role'] == 'assistant' %}{{ ' ' + m['content'] + eos_token }}"
        "{% else %}{{ raise_exception('only user and assistant') }}{% endif %}{% endfor %}"
    ),
    # Turns must take turns; the assistant has another name.
    "strict": (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}"
        "{% set role = 'model' if m['role'] == 'assistant' else m['role'] %}"
        "{{ '<|im_start|>' + role + '\\n' + m['content'] | trim + '<|im_end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>model\\n' }}{% endif %}"
    ),
    # A text that does not ask for an answer is closed by the end token.
    "closed": (
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% else %}{{ eos_token }}{% endif %}"
    ),
    # Contents are lists of parts.
    "parts": (
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' }}{% for part in m['content'] %}"
        "{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
    ),
    # A system text of its own, a mark for what the assistant says, a date, tools, and a loop that is left early.
    "rich": (
        "{%- if tools %}{{- '<|im_start|>system\\n' + tools | tojson + '<|im_end|>\\n' }}{%- endif %}"
        "{%- if messages[0]['role'] != 'system' %}{{- '<|im_start|>system\\nToday is ' + strftime_now('%d %b %Y') "
        "+ '<|im_end|>\\n' }}{%- endif %}{%- set ns = namespace(last=0) %}"
        "{%- for m in messages[::-1] %}{%- if m.role == 'user' %}{%- set ns.last = loop.index0 %}{%- break %}"
        "{%- endif %}{%- endfor %}"
        "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' }}{%- if m.role == 'assistant' %}"
        "{%- generation %}{{- m.content + '<|im_end|>' }}{%- endgeneration %}{{- '\\n' }}"
        "{%- else %}{{- m.content + '<|im_end|>\\n' }}{%- endif %}{%- endfor %}"
        "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
    ),
}


def in_format(name: str) -> Callable[[Path], Given]:
    """A builder of the model with one of the healthy templates."""

    def build(folder: Path) -> Given:
        given = release(folder)
        with_template(HEALTHY_TEMPLATES[name])(given)
        given.intent["chat"]["tools"] = name == "rich"
        return given

    build.__name__ = f"format_{name}"
    return build
