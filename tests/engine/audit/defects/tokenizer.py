"""One defect for every gate of the tokenizer."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.engine.audit.build.causal_lm import causal_lm, then_summed
from tests.engine.audit.build.chat import edit
from tests.engine.audit.build.tokenizer import END, PAD, SPECIALS, TURN
from tests.engine.audit.given import Defect, Given

TOKENIZER = "tokenizer.json"


def no_tokenizer(given: Given) -> None:
    (given.root / TOKENIZER).unlink()


def merge_without_piece(given: Given) -> None:
    edit(given.root / TOKENIZER, lambda t: t["model"]["merges"].append(["q", "q"]))


def tokenizer_cut(given: Given) -> None:
    file = given.root / TOKENIZER
    file.write_bytes(file.read_bytes()[:4000])


def end_token_lost(given: Given) -> None:
    edit(given.root / TOKENIZER, lambda t: t["added_tokens"].pop(-1))


def marker_only_in_text(given: Given) -> None:
    """The config forgot the marker, too: only base and template know it."""
    for at, key in ((TOKENIZER, "added_tokens"), ("tokenizer_config.json", "added_tokens_decoder")):
        edit(given.root / at, lambda t, key=key: t.update({key: _without(t[key], TURN)}))


def _without(tokens: Any, text: str) -> Any:
    if isinstance(tokens, list):
        return [token for token in tokens if token["content"] != text]
    return {id_: token for id_, token in tokens.items() if token["content"] != text}


def flag_differs(given: Given) -> None:
    edit(
        given.root / "tokenizer_config.json",
        lambda c: c["added_tokens_decoder"][str(SPECIALS[END])].update(special=False),
    )


def map_of_before(given: Given) -> None:
    given.edit_json("special_tokens_map.json", eos_token=PAD)


def token_only_in_map(given: Given) -> None:
    (given.root / "added_tokens.json").write_text(json.dumps({"<|tool|>": 288}), "utf-8")


def named_and_not_there(given: Given) -> None:
    given.edit_json("tokenizer_config.json", additional_special_tokens=["<|plugin|>"])


def of_newer_library(given: Given) -> None:
    given.edit_json("tokenizer_config.json", tokenizer_class="TokenizersBackend", backend="tokenizers")
    given.intent["serving"] = {"transformers": "4.57.1"}


def list_of_newer_library(given: Given) -> None:
    given.edit_json("tokenizer_config.json", extra_special_tokens=[TURN])
    given.intent["serving"] = {"transformers": "4.51.3"}


def two_on_one_id(given: Given) -> None:
    for root in (given.root, given.root.parent / "base"):
        edit(root / TOKENIZER, lambda t: t["added_tokens"][1].update(id=5))
        edit(
            root / "tokenizer_config.json",
            lambda c: c["added_tokens_decoder"].update({"5": c["added_tokens_decoder"].pop(str(SPECIALS[TURN]))}),
        )


def id_left_out(given: Given) -> None:
    """The base has the marker that the checkpoint lost; nothing writes it."""
    given.edit_json(
        "tokenizer_config.json", chat_template="{% for m in messages %}{{ m.content + eos_token }}{% endfor %}"
    )
    text = json.loads((given.root / "tokenizer_config.json").read_text())["chat_template"]
    given.intent["chat"]["training_template_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    given.intent["expected_changes"]["vocab"] = None
    edit(given.root / TOKENIZER, lambda t: t.update(added_tokens=_without(t["added_tokens"], TURN)))
    edit(
        given.root / "tokenizer_config.json",
        lambda c: c.update(added_tokens_decoder=_without(c["added_tokens_decoder"], TURN)),
    )


def decoder_of_another_kind(given: Given) -> None:
    for root in (given.root, given.root.parent / "base"):
        edit(root / TOKENIZER, lambda t: t.update(decoder={"type": "Fuse"}))


def byte_lost(given: Given) -> None:
    for root in (given.root, given.root.parent / "base"):
        edit(root / TOKENIZER, lambda t: (t["model"]["vocab"].pop("~"), t["model"]["vocab"].update({"qq": 93})))


def split_of_another_family(given: Given) -> None:
    edit(
        given.root / TOKENIZER,
        lambda t: t.update(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}),
    )


def pieces_swapped(given: Given) -> None:
    edit(given.root / TOKENIZER, lambda t: t["model"]["vocab"].update({"a": 65, "b": 64}))


def padding_is_the_end(given: Given) -> None:
    for at in ("tokenizer_config.json", "special_tokens_map.json"):
        given.edit_json(at, pad_token=END)
    for at in ("config.json", "generation_config.json"):
        given.edit_json(at, pad_token_id=SPECIALS[END])


def cut_written_in(given: Given) -> None:
    cut = {"direction": "Right", "max_length": 64, "strategy": "LongestFirst", "stride": 0}
    given.edit_json(TOKENIZER, truncation=cut)


def filled_to_length(given: Given) -> None:
    fill = {"strategy": {"Fixed": 64}, "direction": "Right", "pad_id": SPECIALS[PAD], "pad_token": PAD}
    given.edit_json(TOKENIZER, padding=fill)


_ON_BASE = frozenset({"tokenizer/tok-vs-base", "tokenizer/tok-files-agree", "tokenizer/tok-ids-bijective"})
_IDS = _ON_BASE | {"config/special-ids", "generation/gen-eos-agree", "template/tmpl-eot-in-eos"}
DEFECTS: tuple[Defect, ...] = (
    Defect("tokenizer/tok-present-loads", causal_lm, then_summed(no_tokenizer)),
    Defect("tokenizer/tok-present-loads", causal_lm, then_summed(merge_without_piece)),
    Defect("tokenizer/tok-present-loads", causal_lm, then_summed(tokenizer_cut)),
    Defect("tokenizer/tok-special-single", causal_lm, then_summed(end_token_lost), also=_IDS),
    Defect("tokenizer/tok-special-single", causal_lm, then_summed(marker_only_in_text), also=_IDS),
    Defect("tokenizer/tok-special-single", causal_lm, then_summed(named_and_not_there)),
    Defect("tokenizer/tok-server-reads", causal_lm, then_summed(of_newer_library)),
    Defect("tokenizer/tok-server-reads", causal_lm, then_summed(list_of_newer_library)),
    Defect("tokenizer/tok-files-agree", causal_lm, then_summed(flag_differs)),
    Defect("tokenizer/tok-files-agree", causal_lm, then_summed(map_of_before)),
    Defect("tokenizer/tok-files-agree", causal_lm, then_summed(token_only_in_map)),
    Defect("tokenizer/tok-ids-bijective", causal_lm, then_summed(two_on_one_id)),
    Defect("tokenizer/tok-ids-bijective", causal_lm, then_summed(id_left_out)),
    Defect("tokenizer/tok-roundtrip", causal_lm, then_summed(decoder_of_another_kind)),
    Defect("tokenizer/tok-roundtrip", causal_lm, then_summed(byte_lost)),
    Defect("tokenizer/tok-vs-base", causal_lm, then_summed(split_of_another_family)),
    Defect("tokenizer/tok-vs-base", causal_lm, then_summed(pieces_swapped)),
    Defect("tokenizer/pad-equals-eos", causal_lm, then_summed(padding_is_the_end)),
    Defect("tokenizer/tok-truncation-baked", causal_lm, then_summed(cut_written_in)),
    Defect("tokenizer/tok-truncation-baked", causal_lm, then_summed(filled_to_length)),
)
