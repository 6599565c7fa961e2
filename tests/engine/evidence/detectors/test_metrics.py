"""Quality metrics of evaluations beside a loss that improves."""

from __future__ import annotations

import numpy as np
import pytest


def evaluated(one, name, values):
    return one(name, values, steps=np.arange(1, len(values) + 1) * 300.0)


@pytest.mark.parametrize(("last", "falls"), [(0.70, False), (0.69, False), (0.50, True)])
def test_metric_falls_while_the_loss_improves(rng, healthy, one, facts, last, falls):
    run = healthy(rng)
    run["metric"] = evaluated(one, "eval_accuracy", [0.5, 0.6, 0.7, 0.71, *np.linspace(0.7, last, 4)])
    found = facts(run)
    assert found["eval_metric.falling"] is falls
    assert "retrieval.metric_falling" not in found


def test_retrieval_metric_falls(rng, healthy, one, facts):
    run = healthy(rng)
    run["metric"] = evaluated(one, "eval_ndcg@10", [0.40, 0.45, 0.44, 0.38, 0.33, 0.30, 0.28])
    assert facts(run)["retrieval.metric_falling"] is True


def test_nothing_is_said_of_a_metric_that_falls_with_the_run(rng, one, facts):
    loss = np.concatenate([np.linspace(10, 3, 100), np.linspace(3, 9, 100)]) * np.exp(rng.normal(0, 0.01, 200))
    found = facts([one("loss", loss), evaluated(one, "eval_accuracy", [0.5, 0.6, 0.7, 0.4, 0.2, 0.1])])
    assert (found["loss.diverging"], "eval_metric.falling" in found) == (True, False)


def test_frozen_metrics(one, facts):
    bleu, rouge = (evaluated(one, name, [0.0277] * 4) for name in ("eval_bleu", "eval_rouge"))
    assert facts([bleu, rouge])["eval_metric.frozen"] is True
    moving = evaluated(one, "eval_rouge", [0.1, 0.11, 0.1, 0.12])
    assert facts([bleu, moving])["eval_metric.frozen"] is False
    assert facts([evaluated(one, "eval_accuracy", [1.0] * 4)])["eval_metric.frozen"] is False


def test_metric_that_hardly_moves(rng, one, facts):
    loss = one("loss", np.linspace(0.62, 0.58, 40) * np.exp(rng.normal(0, 0.01, 40)), 60.0)
    flat = evaluated(one, "eval_accuracy", 0.712 + rng.normal(0, 0.003, 10))
    assert facts([loss, flat])["eval_metric.flat"] is True
    learns = evaluated(one, "eval_accuracy", np.linspace(0.70, 0.80, 10))
    assert facts([loss, learns])["eval_metric.flat"] is False
    learnt = one("loss", np.linspace(0.62, 0.2, 40), 60.0)
    assert facts([learnt, flat])["eval_metric.flat"] is False


def test_rewards_of_pairs_and_run_times_are_no_quality(one, facts):
    given = [
        evaluated(one, "eval_rewards/chosen", [0.1, 0, -0.2, -0.3, -0.4]),
        evaluated(one, "eval_runtime", [9.0] * 5),
    ]
    assert not [fact for fact in facts(given) if fact.startswith("eval_metric")]


def test_token_accuracy_of_a_supervised_run(rng, falling, one, facts):
    accuracy = 0.6 + 0.1 * np.linspace(0, 1, 50) + rng.normal(0, 0.01, 50)
    loss = one("loss", falling(rng, 50, 2.0, 1.5, 0.02))
    assert facts([one("mean_token_accuracy", accuracy), loss])["token_accuracy.flat"] is False
    assert facts([one("mean_token_accuracy", np.zeros(50)), loss])["token_accuracy.flat"] is True
    still = one("loss", 2.0 * np.exp(rng.normal(0, 0.01, 50)))
    flat = one("mean_token_accuracy", 0.3 + rng.normal(0, 0.005, 50))
    assert facts([flat, still])["token_accuracy.flat"] is True
    assert facts([flat, loss])["token_accuracy.flat"] is False
