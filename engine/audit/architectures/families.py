"""The families in the tables, by ``model_type``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.audit.architectures import decoders, encoders
from engine.audit.architectures.layout import Config, Family, Layout, Shapes

_SCORES: Mapping[str, Shapes] = {
    "Model": {},
    "ForCausalLM": {},
    "ForSequenceClassification": {"score.weight": "labels hidden"},
    "ForTokenClassification": {"score.weight": "labels hidden", "score.bias": "labels"},
}
_CLASSIFIER: Shapes = {"classifier.weight": "labels hidden", "classifier.bias": "labels"}
_BERT_HEAD: Shapes = {
    "cls.predictions.transform.dense.weight": "hidden hidden",
    "cls.predictions.transform.dense.bias": "hidden",
    "cls.predictions.transform.LayerNorm.weight": "hidden",
    "cls.predictions.transform.LayerNorm.bias": "hidden",
    "cls.predictions.bias": "vocab",
}
_BERT_HEADS: Mapping[str, Shapes] = {
    "Model": {},
    "ForMaskedLM": _BERT_HEAD,
    "ForPreTraining": {
        **_BERT_HEAD,
        **encoders.POOLER,
        "cls.seq_relationship.weight": "two hidden",
        "cls.seq_relationship.bias": "two",
    },
    "ForSequenceClassification": {**_CLASSIFIER, **encoders.POOLER},
    "ForTokenClassification": _CLASSIFIER,
    "ForQuestionAnswering": {"qa_outputs.weight": "labels hidden", "qa_outputs.bias": "labels"},
}
_ROBERTA_HEADS: Mapping[str, Shapes] = {
    "Model": {},
    "ForMaskedLM": {
        "lm_head.dense.weight": "hidden hidden",
        "lm_head.dense.bias": "hidden",
        "lm_head.layer_norm.weight": "hidden",
        "lm_head.layer_norm.bias": "hidden",
        "lm_head.bias": "vocab",
    },
    "ForSequenceClassification": {
        "classifier.dense.weight": "hidden hidden",
        "classifier.dense.bias": "hidden",
        "classifier.out_proj.weight": "labels hidden",
        "classifier.out_proj.bias": "labels",
    },
    "ForTokenClassification": _CLASSIFIER,
    "ForQuestionAnswering": {"qa_outputs.weight": "labels hidden", "qa_outputs.bias": "labels"},
}


def _decoder(
    classes: str, build: Callable[[Config], Layout], *, tied: bool = False, offset_norms: bool = False
) -> Family:
    return Family(
        classes, "model.", build, _SCORES, {"ForCausalLM": "lm_head.weight"}, tied=tied, offset_norms=offset_norms
    )


def _roberta(classes: str) -> Family:
    return Family(
        classes, "roberta.", encoders.bert, _ROBERTA_HEADS, {"ForMaskedLM": "lm_head.decoder.weight"}, tied=True
    )


FAMILIES: Mapping[str, Family] = {
    "llama": _decoder("Llama", decoders.llama),
    "mistral": _decoder("Mistral", decoders.mistral),
    "mixtral": _decoder("Mixtral", decoders.mixtral),
    "qwen2": _decoder("Qwen2", decoders.qwen2),
    "qwen2_moe": _decoder("Qwen2Moe", decoders.qwen2_moe),
    "qwen3": _decoder("Qwen3", decoders.qwen3),
    "qwen3_moe": _decoder("Qwen3Moe", decoders.qwen3_moe),
    "gemma": _decoder("Gemma", decoders.gemma, tied=True, offset_norms=True),
    "gemma2": _decoder("Gemma2", decoders.gemma2, tied=True, offset_norms=True),
    "gemma3_text": _decoder("Gemma3", decoders.gemma3, tied=True, offset_norms=True),
    "phi3": _decoder("Phi3", decoders.phi3),
    "gpt_neox": Family(
        "GPTNeoX",
        "gpt_neox.",
        decoders.gpt_neox,
        {"Model": {}, "ForCausalLM": {}, "ForSequenceClassification": {"score.weight": "labels hidden"}},
        {"ForCausalLM": "embed_out.weight"},
    ),
    "gpt2": Family(
        "GPT2",
        "transformer.",
        decoders.gpt2,
        {"Model": {}, "LMHeadModel": {}, "ForSequenceClassification": {"score.weight": "labels hidden"}},
        {"LMHeadModel": "lm_head.weight"},
        tied=True,
    ),
    "bert": Family(
        "Bert",
        "bert.",
        encoders.bert,
        _BERT_HEADS,
        {"ForMaskedLM": "cls.predictions.decoder.weight", "ForPreTraining": "cls.predictions.decoder.weight"},
        tied=True,
    ),
    "roberta": _roberta("Roberta"),
    "xlm-roberta": _roberta("XLMRoberta"),
    "t5": Family(
        "T5",
        "",
        encoders.t5,
        {"Model": {}, "ForConditionalGeneration": {}, "EncoderModel": {}},
        {"ForConditionalGeneration": "lm_head.weight"},
        {"EncoderModel": encoders.t5_encoder},
        tied=True,
    ),
}
