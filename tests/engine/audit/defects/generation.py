"""One defect for every gate of generation_config.json."""

from __future__ import annotations

from tests.engine.audit.build.causal_lm import causal_lm, then_summed
from tests.engine.audit.build.tokenizer import END, PAD, SPECIALS
from tests.engine.audit.given import Defect, Given

FILE = "generation_config.json"


def config_stops_elsewhere(given: Given) -> None:
    given.edit_json("config.json", eos_token_id=[SPECIALS[END], SPECIALS[PAD]])


def tokenizer_stops_elsewhere(given: Given) -> None:
    for at in ("tokenizer_config.json", "special_tokens_map.json"):
        given.edit_json(at, eos_token=PAD)
    given.edit_json("config.json", eos_token_id=SPECIALS[PAD])


def sampling_fields_left(given: Given) -> None:
    given.edit_json(FILE, do_sample=False)


def temperature_zero(given: Given) -> None:
    given.edit_json(FILE, temperature=0.0)


def share_above_one(given: Given) -> None:
    given.edit_json(FILE, top_p=1.5)


def no_file(given: Given) -> None:
    (given.root / FILE).unlink()


DEFECTS: tuple[Defect, ...] = (
    Defect("generation/gen-eos-agree", causal_lm, then_summed(config_stops_elsewhere)),
    Defect("generation/gen-eos-agree", causal_lm, then_summed(tokenizer_stops_elsewhere)),
    Defect("generation/gen-valid", causal_lm, then_summed(sampling_fields_left)),
    Defect("generation/gen-valid", causal_lm, then_summed(temperature_zero)),
    Defect("generation/gen-valid", causal_lm, then_summed(share_above_one)),
    Defect("generation/gen-present", causal_lm, then_summed(no_file)),
)
