"""One defect for every gate of the chat template, and one for the rows of its markers."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.engine.audit.build.causal_lm import causal_lm, then_summed
from tests.engine.audit.build.chat import begin_lm, with_template
from tests.engine.audit.build.tokenizer import CHAT_TEMPLATE, PAD, SPECIALS, TURN
from tests.engine.audit.build.weights import Raw, edit_weights
from tests.engine.audit.given import Defect, Given

LOOP = "{% for message in messages %}"
OPENING = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"


def template(name: str, text: str) -> Callable[[Given], None]:
    """A spoil that writes a broken template, used in training as well, so that no hash tells."""
    spoil = with_template(text)
    spoil.__name__ = name
    return spoil


def no_template(given: Given) -> None:
    given.edit_json("tokenizer_config.json", chat_template=None)


def another_in_the_file(given: Given) -> None:
    (given.root / "chat_template.jinja").write_text(CHAT_TEMPLATE.replace("\\n", " "), "utf-8")


def trained_with_another(given: Given) -> None:
    given.intent["chat"]["training_template_sha256"] = "0" * 64


def evaluated_with_another(given: Given) -> None:
    given.intent["evidence"] = {"candidate": "results.json"}
    (given.root.parent / "results.json").write_text(json.dumps({"chat_template_sha": "1" * 64}), "utf-8")


def stops_elsewhere(given: Given) -> None:
    """As at a well-known launch: the template ends turns by one token, every file names another."""
    for at in ("config.json", "generation_config.json"):
        given.edit_json(at, eos_token_id=SPECIALS[PAD])
    for at in ("tokenizer_config.json", "special_tokens_map.json"):
        given.edit_json(at, eos_token=PAD)


def encoded_once_more(given: Given) -> None:
    given.intent["chat"]["serving_path"] = "template_text_then_tokenizer"


def begin_written_twice(given: Given) -> None:
    text = json.loads((given.root / "tokenizer_config.json").read_text("utf-8"))["chat_template"]
    with_template("{{ bos_token }}" + text)(given)


def begin_not_written(given: Given) -> None:
    text = json.loads((given.root / "tokenizer_config.json").read_text("utf-8"))["chat_template"]
    with_template(text.replace("{{ bos_token }}", ""))(given)


def marker_row_zero(given: Given) -> None:
    def change(tensors: dict[str, Raw]) -> None:
        _row(tensors, "model.embed_tokens.weight", SPECIALS[TURN], b"\0" * 64)

    edit_weights(given.root / "model.safetensors", change)


def marker_row_copied(given: Given) -> None:
    """Rows of reserved tokens that were filled with one mean and never trained."""

    def change(tensors: dict[str, Raw]) -> None:
        raw = tensors["lm_head.weight"]
        for id_ in (SPECIALS[PAD] - 1, SPECIALS[PAD], SPECIALS[TURN]):
            _row(tensors, "lm_head.weight", id_, raw.data[:64])

    edit_weights(given.root / "model.safetensors", change)


def _row(tensors: dict[str, Raw], name: str, id_: int, row: bytes) -> None:
    raw = tensors[name]
    at = id_ * len(row)
    tensors[name] = raw._replace(data=raw.data[:at] + row + raw.data[at + len(row) :])


BROKEN = "{% for message in messages %}{{ message['content'] }}"
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}" + CHAT_TEMPLATE
HUGE = "{{ 'x' * 999999999 }}" + CHAT_TEMPLATE
ESCAPED = CHAT_TEMPLATE.replace("message['content']", "message['content'] | e")
NO_SYSTEM = (
    LOOP
    + "{% if message['role'] != 'system' %}"
    + CHAT_TEMPLATE[len(LOOP) :].replace("{% endfor %}", "{% endif %}{% endfor %}")
)
NO_END = CHAT_TEMPLATE.replace("'<|im_end|>\\n'", "'\\n'")
NO_OPENING = CHAT_TEMPLATE.replace(OPENING, "")
ALWAYS_OPEN = CHAT_TEMPLATE.replace(OPENING, "{{ '<|im_start|>assistant\\n' }}")
LATE_SYSTEM = (
    "{% for m in messages %}{% if loop.last %}{{ '<|im_start|>note\\n<|im_end|>\\n' }}{% endif %}"
    "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}" + OPENING
)
OPEN_AFTER_USER = (
    CHAT_TEMPLATE.replace(OPENING, "")
    .replace(
        "'<|im_end|>\\n'",
        "'<|im_end|>\\n' + ('<|im_start|>assistant\\n' if message['role'] == 'user' else '')",
    )
    .replace(
        "{{ '<|im_start|>' + message['role'] + '\\n' +",
        "{{ ('<|im_start|>' + message['role'] + '\\n' if message['role'] != 'assistant' else '') +",
    )
)


def no_end_declared(given: Given) -> None:
    """Nobody says which token ends a turn; the marker of the next turn is no stop token."""
    with_template(NO_END)(given)
    given.intent["chat"]["end_of_turn_token"] = None


DEFECTS: tuple[Defect, ...] = (
    Defect("template/tmpl-present", causal_lm, then_summed(no_template)),
    Defect(
        "template/tmpl-two-sources",
        causal_lm,
        then_summed(another_in_the_file),
        also=frozenset({"template/tmpl-hash-training"}),
    ),
    Defect("template/tmpl-renders", causal_lm, template("no_syntax", BROKEN)),
    Defect("template/tmpl-renders", causal_lm, template("endless", ENDLESS)),
    Defect("template/tmpl-renders", causal_lm, template("huge", HUGE)),
    Defect("template/tmpl-content-verbatim", causal_lm, template("escaped", ESCAPED)),
    Defect("template/tmpl-content-verbatim", causal_lm, template("system_dropped", NO_SYSTEM)),
    Defect("template/tmpl-end-of-turn", causal_lm, template("no_end", NO_END)),
    Defect("template/tmpl-end-of-turn", causal_lm, no_end_declared),
    Defect("template/tmpl-eot-in-eos", causal_lm, then_summed(stops_elsewhere)),
    Defect("template/tmpl-generation-prompt", causal_lm, template("no_opening", NO_OPENING)),
    Defect(
        "template/tmpl-generation-prompt",
        causal_lm,
        template("always_open", ALWAYS_OPEN),
        also=frozenset({"template/tmpl-prefix-preserving"}),
    ),
    Defect("template/tmpl-generation-prompt", causal_lm, template("open_after_every_user_turn", OPEN_AFTER_USER)),
    Defect("template/tmpl-prefix-preserving", causal_lm, template("moves_with_the_end", LATE_SYSTEM)),
    Defect("template/double-bos", begin_lm, then_summed(encoded_once_more)),
    Defect("template/double-bos", begin_lm, begin_written_twice),
    Defect("template/missing-bos", begin_lm, begin_not_written),
    Defect("template/tmpl-hash-training", causal_lm, trained_with_another),
    Defect("template/tmpl-hash-training", causal_lm, evaluated_with_another),
    Defect("weights/special-row-trained", causal_lm, then_summed(marker_row_zero)),
    Defect("weights/special-row-trained", causal_lm, then_summed(marker_row_copied)),
)
