"""Tokenizer, template, generation config: what is not known stays open; near every limit the healthy side passes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.audit.decide import Auditor
from tests.engine.audit.build.causal_lm import causal_lm, tied_lm
from tests.engine.audit.build.chat import begin_lm, edit, with_template
from tests.engine.audit.build.embedding import embedding
from tests.engine.audit.build.tokenizer import CHAT_TEMPLATE, END, PAD, SPECIALS
from tests.engine.audit.defects.tokenizer import padding_is_the_end
from tests.engine.audit.given import Given
from tests.engine.audit.probes.look import looked

Spoil = Callable[[Given], Any]


def chat(**declared: Any) -> Spoil:
    return lambda given: given.intent["chat"].update(declared)


def new_token(given: Given) -> None:
    token = json.loads((given.root / "tokenizer.json").read_text("utf-8"))["added_tokens"][0] | {
        "id": 288,
        "content": "<|x|>",
    }
    edit(given.root / "tokenizer.json", lambda t: t["added_tokens"].append(token))
    edit(given.root / "tokenizer_config.json", lambda c: c["added_tokens_decoder"].update({"288": token}))


def vocabulary(declared: str | None) -> Spoil:
    return lambda given: (new_token(given), given.intent["expected_changes"].update(vocab=declared))


def both(*spoils: Spoil) -> Spoil:
    return lambda given: [spoil(given) for spoil in spoils]


def template(text: str) -> Spoil:
    """Another text in the file, trained with the text of the config."""
    return lambda given: (given.root / "chat_template.jinja").write_text(text, "utf-8")


def trained_with(text: str) -> Spoil:
    return chat(training_template_sha256=hashlib.sha256(text.encode()).hexdigest())


def cut_to(length: int) -> Spoil:
    cut = {"direction": "Right", "max_length": length, "strategy": "LongestFirst", "stride": 0}
    return lambda given: edit(given.root / "tokenizer.json", lambda t: t.update(truncation=cut))


def generation(**fields: Any) -> Spoil:
    return lambda given: given.edit_json("generation_config.json", **fields)


def unlink(*names: str) -> Spoil:
    return lambda given: [(given.root / name).unlink() for name in names]


def reserved_row_zero(given: Given) -> None:
    from tests.engine.audit.build.weights import edit_weights

    def change(tensors: dict[str, Any]) -> None:
        raw = tensors["model.embed_tokens.weight"]
        at = SPECIALS[PAD] * 64
        tensors["model.embed_tokens.weight"] = raw._replace(data=raw.data[:at] + b"\0" * 64 + raw.data[at + 64 :])

    edit_weights(given.root / "model.safetensors", change)


THINKING = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' and loop.last %}"
    "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{{ m.content + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
NEE, PASS, FAIL, OUTSIDE = "not_enough_evidence", "pass", "fail", "not_applicable"
CASES: tuple[tuple[str, Callable[[Path], Given], Spoil, str], ...] = (
    ("template/double-bos", begin_lm, chat(serving_path=None), NEE),
    ("template/double-bos", begin_lm, chat(serving_path="template_ids"), PASS),
    ("template/double-bos", causal_lm, chat(serving_path="template_text_then_tokenizer"), PASS),
    ("template/missing-bos", begin_lm, chat(), PASS),
    ("tokenizer/pad-equals-eos", causal_lm, padding_is_the_end, FAIL),
    ("tokenizer/pad-equals-eos", causal_lm, both(padding_is_the_end, chat(loss_masks_padding_by_token_id=None)), NEE),
    ("tokenizer/pad-equals-eos", causal_lm, both(padding_is_the_end, chat(loss_masks_padding_by_token_id=False)), PASS),
    ("tokenizer/pad-equals-eos", causal_lm, chat(loss_masks_padding_by_token_id=None), PASS),
    ("tokenizer/tok-vs-base", causal_lm, vocabulary("extended"), PASS),
    ("tokenizer/tok-vs-base", causal_lm, vocabulary("unchanged"), FAIL),
    ("tokenizer/tok-vs-base", causal_lm, vocabulary(None), NEE),
    ("tokenizer/tok-vs-base", causal_lm, lambda given: given.intent["expected_changes"].clear(), PASS),
    ("tokenizer/tok-truncation-baked", embedding, cut_to(64), PASS),
    ("tokenizer/tok-truncation-baked", embedding, cut_to(63), FAIL),
    ("tokenizer/tok-roundtrip", embedding, cut_to(64), OUTSIDE),
    ("tokenizer/tok-present-loads", causal_lm, chat(), PASS),
    ("template/tmpl-two-sources", causal_lm, template(CHAT_TEMPLATE + "\n"), PASS),
    ("template/tmpl-two-sources", causal_lm, template(CHAT_TEMPLATE + "\n\n"), FAIL),
    ("template/tmpl-hash-training", causal_lm, trained_with(CHAT_TEMPLATE + "\n"), PASS),
    ("template/tmpl-hash-training", causal_lm, chat(training_template_sha256=None), NEE),
    ("template/tmpl-prefix-preserving", causal_lm, with_template(THINKING), OUTSIDE),
    ("template/tmpl-prefix-preserving", causal_lm, with_template(THINKING.replace("think", "note")), FAIL),
    ("template/tmpl-eot-in-eos", causal_lm, generation(eos_token_id=[SPECIALS[PAD], SPECIALS[END]]), PASS),
    ("template/tmpl-eot-in-eos", causal_lm, generation(eos_token_id=[SPECIALS[PAD]]), FAIL),
    (
        "template/tmpl-eot-in-eos", causal_lm,
        both(generation(eos_token_id=[SPECIALS[PAD]]), chat(stop_tokens=[END])), PASS,
    ),
    ("generation/gen-valid", causal_lm, generation(top_p=1.0), PASS),
    ("generation/gen-valid", causal_lm, generation(top_p=1.01), FAIL),
    ("generation/gen-valid", causal_lm, generation(temperature=0.01), PASS),
    ("generation/gen-valid", causal_lm, generation(do_sample=False, temperature=1.0, top_p=None), PASS),
    ("generation/gen-valid", causal_lm, generation(do_sample=False, temperature=1.0, top_p=None, top_k=50), PASS),
    ("generation/gen-valid", causal_lm, generation(do_sample=False, temperature=1.0, top_p=None, top_k=20), FAIL),
    ("generation/gen-present", causal_lm, both(unlink("generation_config.json"), chat(stop_tokens=[END])), PASS),
    ("weights/special-row-trained", causal_lm, reserved_row_zero, PASS),
)  # fmt: skip


@pytest.mark.parametrize(("gate", "build", "spoil", "status"), CASES)
def test_status(
    gate: str, build: Callable[[Path], Given], spoil: Spoil, status: str, tmp_path: Path, auditor: Auditor
) -> None:
    given = build(tmp_path)
    spoil(given)
    found = looked(auditor, given)[gate]
    assert (found.status, found.because) == (status, found.because)


def test_the_template_of_a_base_model_is_not_judged(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    given.intent.pop("chat")
    given.intent["paradigm"] = "pretraining"
    found = looked(auditor, given)
    assert {gate.status for id_, gate in found.items() if id_.startswith("template/")} == {OUTSIDE}


def test_space_at_the_ends_weighs_less(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    given.edit_json("tokenizer_config.json", chat_template="  " + CHAT_TEMPLATE)
    gate = looked(auditor, given)["template/tmpl-hash-training"]
    assert (gate.status, gate.severity) == (FAIL, "minor")


def test_an_opening_after_every_user_turn_weighs_less(tmp_path: Path, auditor: Auditor) -> None:
    from tests.engine.audit.defects.template import ALWAYS_OPEN, OPEN_AFTER_USER

    given = causal_lm(tmp_path)
    with_template(OPEN_AFTER_USER)(given)
    assert looked(auditor, given)["template/tmpl-generation-prompt"].severity == "minor"
    with_template(ALWAYS_OPEN)(given)
    assert looked(auditor, given)["template/tmpl-generation-prompt"].severity == "major"


def test_without_a_tokenizer_nothing_else_is_claimed_of_it(tmp_path: Path, auditor: Auditor) -> None:
    given = tied_lm(tmp_path)
    (given.root / "tokenizer.json").unlink()
    found = looked(auditor, given)
    assert found["tokenizer/tok-present-loads"].status == FAIL
    others = [gate for id_, gate in found.items() if id_.startswith("tokenizer/tok-") and not id_.endswith("loads")]
    assert {gate.status for gate in others} == {NEE}


def test_an_adapter_may_leave_tokenizer_and_template_to_its_base(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 2}), "utf-8")
    alone = looked(auditor, Given(adapter, given.intent))
    assert alone["tokenizer/tok-present-loads"].status == NEE
    assert alone["template/tmpl-present"].status == NEE
    with_base = looked(auditor, Given(adapter, given.intent, given.root))
    assert with_base["tokenizer/tok-present-loads"].status == OUTSIDE
    assert with_base["template/tmpl-present"].status == PASS


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize("content", [b"[]", b"{}", b"7", b"\xff", b"{", b"null", b'{"chat_template": {"a": 1}}'])
def test_any_content_of_a_file_gives_a_result(name: str, content: bytes, tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    (given.root / name).write_bytes(content)
    assert looked(auditor, given)["tokenizer/tok-present-loads"].status in (PASS, FAIL)


def test_the_marker_must_be_one_token(tmp_path: Path, auditor: Auditor) -> None:
    given = causal_lm(tmp_path)
    given.intent["chat"]["end_of_turn_token"] = "<|none|>"
    found = looked(auditor, given)
    assert found["tokenizer/tok-special-single"].status == FAIL
    assert found["template/tmpl-end-of-turn"].follows_from == "tokenizer/tok-special-single"
