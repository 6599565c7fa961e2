"""Results of evaluations."""

from __future__ import annotations

from engine.evidence.readers.format import Format
from engine.evidence.readers.results.hugging_face import HF_RESULTS
from engine.evidence.readers.results.lm_eval import LM_EVAL
from engine.evidence.readers.results.markdown import EVALUATION_LOG
from engine.evidence.readers.results.mteb import MTEB
from engine.evidence.readers.results.peft_benchmark import PEFT_BENCHMARK

FORMATS: tuple[Format, ...] = (PEFT_BENCHMARK, MTEB, LM_EVAL, HF_RESULTS, EVALUATION_LOG)
