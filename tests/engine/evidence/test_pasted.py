"""A report with a log in it: the log is read as a log, the writer's words as words."""

from __future__ import annotations

import pytest

from engine.diagnose import EvidenceFile
from engine.evidence.pasted import TABLE, cut, kinds_of, looks_logged
from engine.model.case import Case

BEFORE = "This happens since we changed the mixture, any idea?"
AFTER = "What should I look at first?"
SPIKE = [2.31, 2.2, 2.1, 2.0, 1.95, 9.4, 9.1, 9.3, 9.2, 9.25]

TRAINER = "\n".join(
    f"{{'loss': {loss}, 'grad_norm': {1.2 if loss < 3 else 80.5}, 'learning_rate': 2e-05, 'epoch': {step / 10}}}"
    for step, loss in enumerate(SPIKE)
)
MEGATRON = "\n".join(
    f" iteration {6900 + 10 * at:8d}/  159576 | consumed samples: {at:9d} | elapsed time per iteration (ms): 18.1"
    f" | learning rate: 6.000E-05 | global batch size:    96 | lm loss: {loss:.6E} | loss scale: {2048.0 / 2**at} |"
    f" grad norm: {loss:.3f} | num zeros: 0.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    "time (ms)"
    for at, loss in enumerate(SPIKE)
)
WRAPPED = MEGATRON.replace(" learning rate", " learning\n rate")
NANOGPT = "\n".join(f"iter {10 * at}: loss {loss:.4f}, time 233.12ms, mfu 31.05%" for at, loss in enumerate(SPIKE))
PLAIN = "\n".join(f"step {10 * at} loss {loss} lr 3e-4 grad_norm {loss}" for at, loss in enumerate(SPIKE))
EPOCHS = "\n".join(
    f"Epoch: {at + 1}/30\nTime Taken: 30.22s - LR: 8.51e-05\nTrain Loss: {loss:.4f} - Train Perplexity: 166.83"
    for at, loss in enumerate(SPIKE)
)
SCALER = "\n".join(
    f"[2026-03-02 11:0{at}:51,117] [INFO] [logging.py:107:log_dist] [Rank 0] step={100 + 10 * at}, skipped={at},"
    f" lr=[0.0003], mom=[(0.9, 0.95)]\n"
    f"[2026-03-02 11:0{at}:52,117] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step."
    f" Attempted loss scale: {2 ** (5 - at)}, reducing to {2 ** (4 - at)}"
    for at in range(5)
)
SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    3 |
| N/A   88C    P0             400W /  400W |   78000MiB /  81920MiB |    100%      Default |
+-----------------------------------------+------------------------+----------------------+"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 210, in <module>
    main()
  File "/home/u/train.py", line 180, in main
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB."""
KERNEL = "[12345.678901] NVRM: Xid (PCI:0000:38:00): 79, pid=2924364, GPU has fallen off the bus."
ROWS = "step,loss,lr\n" + "\n".join(f"{10 * at},{loss},3e-4" for at, loss in enumerate(SPIKE))
JSON_ROWS = "\n".join(f'{{"step": {10 * at}, "loss": {loss}}}' for at, loss in enumerate(SPIKE))
PASTES = {
    "trainer": TRAINER,
    "megatron": MEGATRON,
    "wrapped": WRAPPED,
    "nanogpt": NANOGPT,
    "plain": PLAIN,
    "epochs": EPOCHS,
    "scaler": SCALER,
    "nvidia-smi": SMI,
    "traceback": TRACEBACK,
    "kernel": KERNEL,
    "csv": ROWS,
    "jsonl": JSON_ROWS,
}


def facts(diagnosis):
    return {fact.id: fact.value for fact in diagnosis.facts}


@pytest.mark.parametrize("name", PASTES)
def test_a_pasted_excerpt_gives_the_facts_of_the_file(diagnoser, name):
    of_file = diagnoser.diagnose(Case(), [EvidenceFile("x.log", data=PASTES[name].encode())])
    present = {finding.id for finding in of_file.findings}
    assert present
    for pasted in (PASTES[name], f"\n{PASTES[name]}\n", f"```\n{PASTES[name]}\n```"):
        of_report = diagnoser.diagnose(Case(report=f"{BEFORE}\n{pasted}\n{AFTER}"))
        assert facts(of_file).items() <= facts(of_report).items()
        assert present <= {finding.id for finding in of_report.findings}


def test_lines_of_a_log_are_no_sentences(diagnoser):
    found = diagnoser.diagnose(Case(report=f"{BEFORE}\n\n{MEGATRON}")).findings
    assert {"grad.norm-zero", "loss.zero", "amp.steps-skipped"}.isdisjoint(finding.id for finding in found)


def test_the_words_around_and_between_are_read(diagnoser):
    pasted = f"{KERNEL}\n{KERNEL}\nThe dataloader workers were fine before that.\n{KERNEL}"
    report = f"Loss became NaN on 8 GPUs.\n{pasted}\nThanks"
    words, files = cut(report)
    assert words.splitlines() == [
        "Loss became NaN on 8 GPUs.",
        "The dataloader workers were fine before that.",
        "Thanks",
    ]
    assert [file.data for file in files] == ["\n".join([KERNEL] * 3).encode()]
    assert {"loss.nan", "gpu.lost"} <= {finding.id for finding in diagnoser.diagnose(Case(report=report)).findings}


@pytest.mark.parametrize(
    "line",
    ["2023-06-09 05:17:54.746690: I tensorflow/dso_loader.cc:53] Successfully opened dynamic library libcudart.so.11.0",
     "step 100 loss 2.1 lr 3e-4", "RuntimeError: CUDA out of memory.", KERNEL],
)  # fmt: skip
def test_a_line_of_a_log_is_known_by_its_form(line):
    assert looks_logged(line)


@pytest.mark.parametrize("line", ["2026-03-01 we changed the rate", "no", "the loss is 2.31 since step 100", BEFORE])
def test_a_sentence_is_no_line_of_a_log(line):
    assert not looks_logged(line)


def test_a_json_document_is_a_file_whatever_its_lines_look_like():
    document = '{"optimizer": {"lr": 0.1,\n"betas": [0.9, 0.95]}}'
    assert kinds_of(document.splitlines()) == [TABLE, TABLE]


def test_a_table_beside_a_log_is_a_file_of_its_own():
    _, files = cut(f"{BEFORE}\n{TRACEBACK}\n\nnvidia-smi says:\n{SMI}")
    assert [(file.name, file.data) for file in files] == [
        ("report", TRACEBACK.encode()),
        ("report 2", SMI.encode()),
    ]


def test_a_table_as_chats_draw_it():
    _, (table,) = cut("| step | loss |\n|---|---|\n| 10 | 2.31 |\n| 20 | 9.5 |")
    assert table.data == b"step,loss\n10,2.31\n20,9.5"


def test_a_single_quoted_error_stays_with_the_words_as_well():
    report = "It ends with\nRuntimeError: the frobnicator is empty\nafter an hour."
    words, files = cut(report)
    assert (words, files[0].data) == (report, b"RuntimeError: the frobnicator is empty")


@pytest.mark.parametrize(
    "words",
    [
        "2026-03-01 we changed the learning rate and the loss diverged",
        "12:03:11 restarted the job, then NaN again",
        "NCCL timeout exactly 30 minutes after the start: rank 0 still tokenises",
        "lr: 3e-4, bs: 8, warmup steps: 100, epochs: 3",
        "- lr 3e-4, bs 8, 2 nodes\n- lr 1e-4, bs 16, 4 nodes",
        "at step 100, loss=2.1, lr=3e-4 everything exploded",
        "Step 1: set lr to 3e-4, bs to 8; step 2: train",
        "loss: nan, lr: 3e-4",
        "We see two things:\n1, loss rises\n2, gpu util is 30%",
        "第 3 天 12:00:00 重启之后 loss 变成 nan",
        "on 4 gpus, 8 gpus, 16 gpus\nit runs at 30%, 20%, 10%",
        "Error: the loss is nan",
        "INFO: is this normal?",
        "epoch 1 loss 2.3, epoch 2 loss 1.2, epoch 3 loss 0.4, eval loss rises",
        "```\nthe loss is nan\n```",
    ],
)
def test_what_a_person_writes_stays_words(words):
    assert cut(words) == (words, [])


@pytest.mark.parametrize(
    "line", ["step 1 " + "loss 1.0 " * 200 + "?", "1" * 2000, "a" + " " * 1990 + "x", "x 1aaaaaaaaaaaa " * 130 + "!"]
)
def test_no_line_takes_more_than_linear_time(line):
    assert cut("\n".join([line] * 100))  # backtracking would not end
