from __future__ import annotations

import math

from engine.evidence.readers import read


def test_steps_come_from_the_bar_in_front(progress, column):
    text = ""
    for step in (10, 20, 30, 40):
        record = {"loss": 3 - step / 40, "grad_norm": 0.5, "learning_rate": 1e-5, "epoch": step / 20}
        text += f"\r{progress(step - 1, 40)}\r{progress(step, 40)}\n\r    \r{record}\n"
    record = read(text.encode(), "out.log")
    assert record.read.format == "hf_console"
    assert column(record, "loss") == [(10, 2.75), (20, 2.5), (30, 2.25), (40, 2.0)]
    assert record.config["max_steps"] == 40
    loss = next(one for one in record.series if one.name == "loss")
    assert loss.source(1).where == "out.log:4"
    assert record.events == ()


def test_evaluation_keeps_the_step_of_the_training_bar(progress, column):
    lines = [
        progress(10, 100) + "{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': 0.1}",
        "\r".join(progress(step, 7) for step in range(1, 8)),
        "{'eval_loss': 1.9, 'eval_runtime': 2.0, 'epoch': 0.1}",
        progress(20, 100),
        "{'loss': 1.8, 'learning_rate': 1e-05, 'epoch': 0.2}",
    ]
    record = read("\n".join(lines).encode())
    assert column(record, "loss") == [(10, 2.0), (20, 1.8)]
    assert column(record, "eval_loss") == [(10, 1.9)]


def test_strings_nan_and_inf(progress, column):
    lines = [
        progress(1, 9),
        "{'loss': 'nan', 'grad_norm': '9,982', 'epoch': '1'}",
        progress(2, 9),
        "{'loss': inf, 'grad_norm': nan, 'epoch': 2}",
    ]
    record = read("\n".join(lines).encode())
    assert math.isnan(column(record, "loss")[0][1])
    assert math.isinf(column(record, "loss")[1][1])
    assert math.isnan(column(record, "grad_norm")[-1][1])


def test_runs_in_one_console_are_told_apart(progress, column):
    def run(total: int, loss: float) -> list[str]:
        records = [f"{{'loss': {loss}, 'learning_rate': {1e-5 / part}, 'epoch': {part}.0}}" for part in (1, 2)]
        return [*records, f"{{'train_runtime': 9.0, 'train_loss': {loss}, 'epoch': 2.0}}", progress(total, total)]

    record = read("\n".join([*run(400, 0.18), progress(7, 7), *run(100, 0.0)]).encode())
    assert column(record, "loss") == [(200, 0.18), (400, 0.18), (50, 0.0), (100, 0.0)]
    assert [part.reason for part in record.segments] == ["start", "new_run"]
    assert record.end.kind == "finished"
    assert record.config["train_runtime"] == 9.0


def test_records_without_any_bar_are_counted_and_that_is_said(column):
    record = read(b"{'loss': 2.0, 'epoch': 0.1}\n{'eval_loss': 2.1, 'epoch': 0.1}\n{'loss': 1.5, 'epoch': 0.2}\n")
    assert column(record, "loss") == [(1, 2.0), (2, 1.5)]
    assert column(record, "eval_loss") == [(1, 2.1)]
    assert any("counted" in why for why in record.not_understood)


def test_lines_behind_a_bar_and_other_dicts_are_events(progress):
    lines = [
        progress(1, 9) + "[rank2]: RuntimeError: boom",
        "{'lr_scheduler': 'cosine'}",
        "Map: 100%|##| 9/9 [00:00<00:00, 900.1 examples/s]",
    ]
    record = read("\n".join(lines).encode())
    assert [event.line for event in record.events] == [1, 2]
    assert record.read.records == 0


def test_zero_gradient_norm_is_a_value_here(column):
    record = read(b"{'loss': 0.0, 'grad_norm': 0.0, 'epoch': 0.1}\n{'loss': 0.0, 'grad_norm': 0.0, 'epoch': 0.2}\n")
    assert column(record, "grad_norm") == [(1, 0.0), (2, 0.0)]


def test_relaunch_with_another_length_keeps_both_step_counts(progress, column):
    lines: list[str] = []
    for total, steps in ((300, (10, 20, 30)), (600, (20, 30, 40))):
        for step in steps:
            lines += [progress(step, total), f"{{'loss': {step / 10}, 'epoch': {step / 100}}}"]
    assert [step for step, _ in column(read("\n".join(lines).encode()), "loss")] == [10, 20, 30, 20, 30, 40]


def test_announced_length_gives_the_steps_of_a_running_log(column):
    stamp = "05/16/2024 23:41:41 - INFO - transformers.trainer - "
    lines = [
        f"{stamp}***** Running training *****",
        f"{stamp}  Num examples = 743",
        f"{stamp}  Num Epochs = 1",
        f"{stamp}  Instantaneous batch size per device = 16",
        f"{stamp}  Total train batch size (w. parallel, ...) = 64",
        f"{stamp}  Gradient Accumulation steps = 4",
        f"{stamp}  Total optimization steps = 11",
        f"{stamp}{{'loss': 1.93, 'learning_rate': 1.1423e-04, 'epoch': 0.43}}",
        "",
        f"{stamp}{{'loss': 1.74, 'learning_rate': 4.05e-06, 'epoch': 0.86}}",
    ]
    record = read("\n".join(lines).encode())
    assert column(record, "loss") == [(5, 1.93), (10, 1.74)]
    assert record.config["max_steps"] == 11
    assert record.config["global_batch_size"] == 64
    assert record.config["gradient_accumulation_steps"] == 4


def test_swift_states_the_step_itself(column):
    text = "".join(
        f"{{'loss': 2.5, 'memory(GiB)': 11.5, 'train_speed(iter/s)': 0.25, 'global_step/max_steps': '{step}/100'}}\n"
        for step in (5, 10)
    )
    record = read(text.encode())
    assert column(record, "loss") == [(5, 2.5), (10, 2.5)]
    assert column(record, "gpu_memory_used")[0][1] == 11.5 * 2**30
    assert column(record, "steps_per_second") == [(5, 0.25), (10, 0.25)]


def test_preference_and_policy_metrics_have_one_name_each(progress, column):
    keys = {
        "rewards/chosen": "rewards/chosen", "logps/rejected": "logps/rejected", "logits/chosen": "logits/chosen",
        "objective/kl": "kl", "policy/entropy_avg": "entropy", "completions/mean_length": "completions/mean_length",
        "clip_ratio/region_mean": "clip_ratio", "frac_reward_zero_std": "frac_reward_zero_std",
        "loss/policy_avg": "policy_loss", "loss/value_avg": "value_loss", "reward": "reward",
    }  # fmt: skip
    body = ", ".join(f"'{key}': {at}.5" for at, key in enumerate(keys))
    record = read(f"{progress(3, 9)}\n{{{body}}}\n".encode())
    for at, name in enumerate(keys.values()):
        assert column(record, name) == [(3, at + 0.5)]


def test_a_name_beside_its_alias_keeps_both(progress, column):
    record = read(f"{progress(3, 9)}\n{{'loss': 1.0, 'objective/kl': 2.0, 'kl': 3.0}}\n".encode())
    assert column(record, "kl") == [(3, 3.0)]
    assert column(record, "objective/kl") == [(3, 2.0)]


def test_bars_and_records_in_other_blocks_of_the_file(progress, column):
    filler = "x" * 199 + "\n"
    text = progress(10, 100) + "\n" + filler * 11_000 + "{'loss': 2.0, 'epoch': 0.1}\n" + filler * 11_000
    text += "{'train_runtime': 9.0, 'epoch': 0.2}\n" + filler * 11_000 + progress(100, 100) + "\n"
    text += progress(5, 50) + "\n{'loss': 3.0, 'epoch': 0.1}\n"
    record = read(text.encode())
    assert column(record, "loss") == [(10, 2.0), (5, 3.0)]
    assert [part.reason for part in record.segments] == ["start", "new_run"]
