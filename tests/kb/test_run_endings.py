"""How a run ended, as its files show it: without a metric, as a false success, cancelled, unqueued; and look-alikes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from engine.diagnose import Diagnoser, EvidenceFile
from engine.model.case import Case

Found = Callable[..., tuple[set[str], set[str]]]


@pytest.fixture(scope="module")
def found(diagnoser: Diagnoser) -> Found:
    """What the diagnosis of files, given by name as text, finds abnormal, and its context."""

    def run(**texts: str) -> tuple[set[str], set[str]]:
        files = [EvidenceFile(name, data=text.encode()) for name, text in texts.items()]
        diagnosis = diagnoser.diagnose(Case(), files)
        return {one.id for one in diagnosis.findings}, {one.id for one in diagnosis.context}

    return run


RUN = (
    "artifact_uri: file:///r/artifacts\nend_time: 1700000119000\nentry_point_name: ''\nexperiment_id: '1'\n"
    "lifecycle_stage: active\nrun_id: abc\nrun_name: x\nrun_uuid: abc\nsource_name: ''\nsource_type: 4\n"
    "source_version: ''\nstart_time: 1700000000000\nstatus: 3\ntags: []\nuser_id: me\n"
)


def state(nan_from: int, loss: float = 0.0) -> str:
    """A Trainer state of ten records that ended; the gradient norm is NaN from one of them on."""
    history: list[dict[str, float]] = [
        {
            "step": 10 * at, "epoch": at / 10, "learning_rate": 1e-4 * (1 - at / 11),
            "loss": loss if at >= nan_from else 2.5 - 0.1 * at,
            "grad_norm": float("nan") if at >= nan_from else 0.9,
        }
        for at in range(1, 11)
    ]  # fmt: skip
    history.append({"step": 100, "epoch": 1.0, "train_runtime": 60.0, "train_loss": 0.9, "total_flos": 1.0})
    return json.dumps({"global_step": 100, "max_steps": 100, "num_train_epochs": 1, "log_history": history})


def test_a_run_that_left_no_metric(found: Found) -> None:
    assert found(meta=RUN)[0] == {"run.no-metrics"}


def test_metrics_elsewhere_are_metrics(found: Found) -> None:
    assert "run.no-metrics" not in found(meta=RUN, log="step 1 | loss 2.5 | lr 1e-4\nstep 2 | loss 2.4 | lr 1e-4\n")[0]


def test_a_success_that_hides_nan(found: Found) -> None:
    assert "run.success-hides-failure" in found(state=state(nan_from=4))[0]


@pytest.mark.parametrize(
    "text",
    [
        state(nan_from=99),
        state(nan_from=4).replace('"train_runtime"', '"other"').replace('"max_steps": 100', '"max_steps": 1000'),
    ],
)
def test_a_success_or_no_end_hides_nothing(found: Found, text: str) -> None:
    assert "run.success-hides-failure" not in found(state=text)[0]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Step at 4 with Perplexity: nan\n", "loss.nan"),
        ("training loss became NaN, giving up\n", "loss.nan"),
        ("[2026-03-08 01:49:40] run7.slurm is not RUNNING or SCHEDULED!\n", "job.not-scheduled"),
        ("  682843   gpu run8   user1 PD       0:00     64 (DependencyNeverSatisfied)\n", "job.pod-not-started"),
        ("RuntimeError: random_ expects 'from' to be less than 'to', but got from=0 >= to=-9\n",
         "data.shorter-than-block"),
    ],
)  # fmt: skip
def test_lines_that_say_it(found: Found, text: str, finding: str) -> None:
    assert finding in found(log=f"starting\n{text}")[0]


@pytest.mark.parametrize(
    "text",
    [
        "Perplexity will be printed as nan if the loss overflows\n",
        "check_for_nan_in_loss_and_grad: True\nfound 0 nan in loss\n",
        "loss = torch.nan_to_num(loss)\nstopping if loss is nan: enabled\n",
        "[2026-03-08 01:49:40] run7 is running\n  91 gpu run7 user1 R 3:12:07 64 n[0-7]\n",
    ],
)
def test_lines_that_only_look_like_it(found: Found, text: str) -> None:
    assert found(log=f"starting\n{text}") == (set(), set())


def test_a_queue_is_context(found: Found) -> None:
    assert found(log="starting\n  682842   gpu run7   user1 PD   0:00   64 (Priority)\n") == (
        set(),
        {"job.waits-in-queue"},
    )


def test_slurm_cancels_in_the_same_words_after_a_failure(found: Found) -> None:
    cancelled = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***\n"
    assert "job.cancelled-by-person" in found(log=f"starting\n{cancelled}")[0]
    after = found(log=f"starting\nModuleNotFoundError: No module named 'x'\n{cancelled}")
    assert "job.cancelled-by-person" not in after[0]
    assert {"package.missing", "job.torn-down-by-launcher"} <= after[0] | after[1]


def test_a_single_norm_of_any_size_is_no_explosion(found: Found) -> None:
    line = (
        " iteration    43680/  311541 | consumed samples:     25709904 | elapsed time per iteration (ms): 25593.4 | "
        "learning rate: 9.1E-05 | global batch size:  1024 | lm loss: 2.63E+00 | loss scale: 131072.0 | "
        "grad norm: 17224.723 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )
    abnormal, context = found(log=line)
    assert abnormal == set()
    assert "run.stops-before-plan" in context
