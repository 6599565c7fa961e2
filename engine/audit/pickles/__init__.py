"""Pickles and the archives around them, read symbolically: nothing is imported, built or called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.audit.documents import read_json
from engine.audit.folder import Folder
from engine.audit.pickles.survey import Survey
from engine.audit.pickles.torchsave import weights
from engine.audit.tensors import TensorInfo

_INDEX = "pytorch_model.bin.index.json"
# State of a run that is no weights, by the names that the common trainers give it. A ZeRO-3 rank's model file holds
# empty tensors in place of the weights.
_STATE = re.compile(
    r"(^|/)(optimizer|scheduler|scaler|rng_state|random_states|training_args|sampler|dataloader)[^/]*$"
    r"|_optim_states\.pt$|(^|/)[^/]*zero_pp_rank_[^/]*_model_states\.pt$"
)


def torch_tensors(folder: Folder, survey: Survey) -> Iterator[TensorInfo]:
    """Every tensor of the folder's PyTorch weight files; of those that an index names, if there is one."""
    index = read_json(folder, _INDEX, 64 << 20).mapping.get("weight_map") if _INDEX in folder else None
    named = {name for name in index.values() if isinstance(name, str)} if isinstance(index, dict) else set()
    for pickled in survey.pickles:
        path = pickled.path
        state = path.endswith(".distcp") or _STATE.search(path)
        if pickled.form in ("torch", "legacy") and not state and (not named or path in named):
            yield from pickled.tensors(weights(pickled.value))
