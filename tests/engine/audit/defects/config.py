"""One defect for each gate of the config, and for the declared number format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.engine.audit.build.causal_lm import POSITIONS, causal_lm, then_summed, tied_lm
from tests.engine.audit.build.families import both_keys, in_eight_bits, quantised, scaled
from tests.engine.audit.build.tokenizer import SPECIALS, TURN, VOCAB_SIZE
from tests.engine.audit.build.weights import Raw, edit_weights, f32
from tests.engine.audit.given import Defect, Given

WEIGHTS = "model.safetensors"
STOPS = frozenset({"generation/gen-eos-agree", "template/tmpl-eot-in-eos"})


def sets(name: str, **changes: object) -> Callable[[Given], None]:
    """A spoil that sets keys of config.json."""

    def spoil(given: Given) -> None:
        given.edit_json("config.json", **changes)

    spoil.__name__ = name
    return spoil


def new_key_alone(given: Given) -> Given:
    for root in (given.root, given.root.parent / "base"):
        parameters = {"rope_type": "default", "rope_theta": 10000.0}
        Given(root).edit_json("config.json", rope_theta=None, rope_parameters=parameters)
    return Given(given.root, {**given.intent, "serving": {"transformers": "4.51.3"}}, given.base)


def base_stretched(given: Given) -> None:
    """Base and release lack the factor, so that only completeness is at fault."""
    for root in (given.root, given.root.parent / "base"):
        scaling = {"rope_type": "yarn", "original_max_position_embeddings": 32}
        Given(root).edit_json("config.json", rope_scaling=scaling)


def two_kinds(given: Given) -> None:
    for root in (given.root, given.root.parent / "base"):
        Given(root).edit_json("config.json", rope_scaling={"rope_type": "dynamic", "type": "linear", "factor": 4.0})


def factor_too_small(given: Given) -> None:
    for root in (given.root, given.root.parent / "base"):
        scaling = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32}
        Given(root).edit_json("config.json", rope_scaling=scaling)


def tokenizer_promises(given: Given) -> None:
    given.edit_json("tokenizer_config.json", model_max_length=POSITIONS * 4)


def entry_gone(given: Given) -> None:
    given.edit_json("config.json", quantization_config=None)


def generation_id(given: Given) -> None:
    given.edit_json("generation_config.json", pad_token_id=VOCAB_SIZE)


def master_weights(given: Given) -> None:
    def change(tensors: dict[str, Raw]) -> None:
        for name, raw in list(tensors.items()):
            tensors[name] = f32(raw.floats())

    edit_weights(given.root / WEIGHTS, change)


def one_matrix_left(given: Given) -> None:
    def change(tensors: dict[str, Raw]) -> None:
        name = "model.layers.0.mlp.up_proj.weight"
        tensors[name] = f32(tensors[name].floats())

    edit_weights(given.root / WEIGHTS, change)


def _one(
    gate: str, spoil: Callable[[Given], Given | None], *also: str, build: Callable[[Path], Given] = causal_lm
) -> Defect:
    name = gate if "/" in gate else f"config/{gate}"
    return Defect(name, build, then_summed(spoil), frozenset(also))


def half_a_config(given: Given) -> None:
    file = given.root / "config.json"
    file.write_bytes(file.read_bytes()[:300])


def scales_lost(given: Given) -> None:
    edit_weights(given.root / WEIGHTS, lambda tensors: tensors.__delitem__(f"{UP}.weight_scale_inv"))


UP = "model.layers.0.mlp.up_proj"
LINEAR = {"rope_type": "linear", "factor": 2.0}
NEW_ROPE = {"rope_type": "default", "rope_theta": 500000.0}
BITS = {"quant_method": "bitsandbytes", "load_in_4bit": True}
DEFECTS = (
    _one("cfg-readable", half_a_config),
    _one("cfg-readable", sets("family_lost", model_type=None)),
    _one("class-named", sets("class_lost", architectures=None)),
    _one("quant-scales", scales_lost, build=in_eight_bits),
    _one("rope-vs-base", sets("other_theta", rope_theta=500000.0)),
    _one("rope-vs-base", sets("scaling_added", rope_scaling=LINEAR)),
    _one("rope-vs-base", sets("new_key_with_other_theta", rope_theta=None, rope_parameters=NEW_ROPE)),
    _one("rope-vs-base", sets("scaling_lost", rope_scaling=None), build=scaled),
    _one("rope-key-generation", sets("forms_differ", rope_theta=500000.0), build=both_keys),
    _one("rope-key-generation", new_key_alone),
    _one("rope-scaling-complete", base_stretched, build=scaled),
    _one("rope-scaling-complete", two_kinds),
    _one("rope-scaling-complete", factor_too_small, build=scaled),
    _one("context-length", tokenizer_promises),
    _one("context-length", sets("positions_doubled", max_position_embeddings=2 * POSITIONS)),
    _one("quant-config-left", sets("entry_left", quantization_config=BITS)),
    _one("quant-config-left", entry_gone, build=quantised),
    _one("special-ids", sets("out_of_range", eos_token_id=VOCAB_SIZE), *STOPS),
    _one("special-ids", sets("of_another_token", eos_token_id=SPECIALS[TURN]), *STOPS),
    _one("special-ids", sets("a_word", eos_token_id="</s>"), *STOPS),
    _one("special-ids", sets("list_without_it", eos_token_id=[SPECIALS[TURN], 5]), *STOPS),
    _one("special-ids", generation_id, *STOPS),
    _one("cfg-diff-vs-base", sets("other_activation", hidden_act="gelu")),
    _one("cfg-diff-vs-base", sets("epsilon_lost", rms_norm_eps=None)),
    _one("cfg-diff-vs-base", sets("window_added", sliding_window=64), build=tied_lm),
    _one("cfg-diff-vs-base", sets("local_path", _name_or_path="/data/runs/tiny-sft/checkpoint-300")),
    _one("weights/dtype-declared", master_weights),
    _one("weights/dtype-declared", one_matrix_left),
    _one("weights/dtype-declared", sets("another_word", torch_dtype="float16")),
)
