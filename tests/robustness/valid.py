"""A small valid file of each format and of each way in which tools print records, written here from nothing.

What damages them (``damage``), and what feeds a fuzzer (``fuzz``), starts from these.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pickle
import sqlite3
from pathlib import Path
from types import ModuleType

STEPS = range(10, 110, 10)
ROWS = [{"step": step, "loss": 4.0 - step / 50, "grad_norm": 0.5, "learning_rate": 1e-4} for step in STEPS]


def writers() -> ModuleType:
    """The encoders of event files and W&B logs, which stand beside the tests of those readers."""
    path = Path(__file__).parents[1] / "engine" / "evidence" / "readers" / "trackers" / "conftest.py"
    spec = importlib.util.spec_from_file_location("tracker_writers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _tensorboard() -> bytes:
    encode = writers()
    scalars = (encode.event(row["step"], {"train/loss": row["loss"], "train/grad_norm": 0.5}) for row in ROWS)
    return bytes(encode.event_file(scalars))


def _wandb() -> bytes:
    encode = writers()
    config = encode.packed(6, encode.items({"max_steps": 100}))
    history = (encode.packed(2, encode.items({"train/loss": row["loss"], "_step": row["step"]})) for row in ROWS)
    return bytes(encode.wandb_file([config, *history]))


def _mlflow_database() -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            "CREATE TABLE runs (run_uuid VARCHAR(32), name VARCHAR(250), status VARCHAR(9), start_time BIGINT);"
            "CREATE TABLE params (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));"
            "CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, run_uuid VARCHAR(32), step BIGINT,"
            " is_nan BOOLEAN); INSERT INTO runs VALUES ('a1', 'run', 'FAILED', 1);"
            "INSERT INTO params VALUES ('learning_rate', '5e-05', 'a1');"
        )
        points = [("loss", row["loss"], 1_700_000_000_000 + 900 * row["step"], "a1", row["step"], 0) for row in ROWS]
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", points)
        return bytes(connection.serialize())


def _flight_recorder() -> bytes:
    entry = {
        "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": 10, "state": "scheduled",
        "profiling_name": "nccl:all_reduce", "frames": [{"name": "step", "filename": "train.py", "line": 7}],
    }  # fmt: skip
    status = {"last_enqueued_collective": 12, "last_started_collective": -1, "last_completed_collective": 9}
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
    return pickle.dumps({"version": "2.9", "pg_config": config, "pg_status": {"0": status}, "entries": [entry]})


def _lm_eval() -> bytes:
    score = {"acc,none": 0.51, "acc_stderr,none": 0.01, "alias": "arc"}
    config = {"model": "hf", "model_args": "pretrained=org/model,dtype=bfloat16", "limit": None}
    return _json({"results": {"arc_easy": score}, "n-shot": {"arc_easy": 0}, "config": config, "date": 1.7e9})


def _peft_benchmark() -> bytes:
    rows = [{"step": row["step"], "valid accuracy": 0.4, "train loss": row["loss"]} for row in ROWS]
    run = {"created_at": "2026-07-15T03:42:36+00:00", "train_config": {"model_id": "org/m"}, "peft_config": {"r": 8}}
    return _json({"run_info": run, "train_info": {"status": "failed", "num_total_params": 3e9, "metrics": rows}})


def _alerts() -> bytes:
    labels = {"alertname": "GpuXidError", "gpu": "3", "xid": "79"}
    alert = {"status": "firing", "labels": labels, "annotations": {"summary": "card lost"}}
    return _json({"version": "4", "groupKey": "{}", "groupLabels": {}, "commonLabels": {}, "alerts": [alert]})


def _query_result() -> bytes:
    values = [[1_700_000_000 + step, str(90 - step / 10)] for step in STEPS]
    metric = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0"}
    return _json(
        {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": metric, "values": values}]}}
    )


FILES: dict[str, bytes] = {
    "tensorboard": _tensorboard(),
    "wandb": _wandb(),
    "wandb_summary": _json({"train/loss": 1.5, "train/global_step": 90, "_step": 9, "_runtime": 70.5, "_wandb": {}}),
    "wandb_config": b"wandb_version: 1\n\nlearning_rate:\n  desc: null\n  value: 0.0001\nmax_steps:\n  value: 100\n",
    "mlflow_database": _mlflow_database(),
    "mlflow_metric": b"".join(b"%d %f %d\n" % (1_700_000_000_000 + r["step"], r["loss"], r["step"]) for r in ROWS),
    "mlflow_run": b"artifact_uri: file:///a\nend_time: null\nlifecycle_stage: active\nrun_id: 1f2e\nstatus: 4\n",
    "single_value": b"5e-05",
    "flight_recorder": _flight_recorder(),
    "py_spy": b'Process 41: python train.py\nThread 41 (active): "MainThread"\n    read (socket.py:31)\n'
    b'    step (train.py:7)\nThread 42 (idle): "pin"\n    wait (threading.py:320)\n',
    "peft_benchmark": _peft_benchmark(),
    "mteb": _json({"mteb_version": "1.6.37", "task_name": "Banking",
                   "scores": {"test": [{"accuracy": 0.7, "main_score": 0.7, "hf_subset": "default"}]}}),
    "lm_eval": _lm_eval(),
    "hf_results": _json({"epoch": 3.0, "eval_loss": 1.2, "eval_accuracy": 0.6, "train_runtime": 70.5, "train_loss": 1}),
    "evaluation_log": b"hf (pretrained=org/m), gen_kwargs: (None), limit: None, num_fewshot: 5\n"
    b"|Tasks|Version|Filter|n-shot|Metric|   |Value|   |Stderr|\n"
    b"|-----|------:|------|-----:|------|---|----:|---|-----:|\n"
    b"|gsm8k|      3|none  |     5|acc   |   |0.310|+- |0.0127|\n",
    "alerts": _alerts(),
    "prometheus_query": _query_result(),
    "nvidia_smi": b"| NVIDIA-SMI 570.86.10   Driver Version: 570.86.10   CUDA Version: 12.8 |\n"
    b"| GPU  Name        Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
    b"|   0  NVIDIA H100 80GB HBM3  On |   00000000:07:00.0 Off |                    0 |\n"
    b"| N/A   55C    P0   672W /  700W |  70000MiB /  81559MiB |    100%      Default |\n",
    "nvidia_smi_q": b"==============NVSMI LOG==============\n\nGPU 00000000:07:00.0\n"
    b"    Utilization\n        Gpu                               : 97 %\n    ECC Errors\n        Volatile\n"
    b"            DRAM Uncorrectable            : 3\n    FB Memory Usage\n        Total    : 81920 MiB\n",
    "nvidia_smi_csv": b"index, utilization.gpu [%], power.draw [W], temperature.gpu, clocks.sm [MHz]\n"
    b"0, 97 %, 300.5 W, 55, 1410 MHz\n1, 3 %, 80.5 W, 40, 1410 MHz\n",
    "nvlink_status": b"GPU 0: NVIDIA A100 (UUID: GPU-5269b708)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n",
    "ibstat": b"CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n",
    "lspci": b"9b:00.0 3D controller: NVIDIA Corporation A100\n\t\tLnkCap: Port #0, Speed 16GT/s, Width x16\n"
    b"\t\tLnkSta: Speed 16GT/s, Width x8\n",
    "sacct": b"JobID|JobName|State|ExitCode|MaxRSS|ReqMem|NNodes\n70133|train|FAILED|139:0||512G|1\n"
    b"70133.0|python|CANCELLED|0:9|510G||\n",
    "scontrol": b"JobId=70133 JobName=train\n   JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0\n   NumNodes=2\n",
    "prometheus_text": b"# HELP DCGM_FI_DEV_GPU_UTIL use\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
    b'DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="n1"} 97\nDCGM_FI_DEV_XID_ERRORS{gpu="0"} 79\n',
    "kernel_log": b"[    1.000000] Linux version 6.1\n[ 9100.000001] NVRM: Xid (PCI:0000:07:00): 79, GPU has fallen off"
    b" the bus.\n[ 9101.000002] INFO: task python:77 blocked for more than 120 seconds.\n",
    "trainer_state": json.dumps({"global_step": 100, "max_steps": 100, "log_history": ROWS}, indent=2).encode(),
    "json_lines": b"\n".join(map(_json, ROWS)) + b"\n",
    "json_document": _json({"step": [r["step"] for r in ROWS], "loss": [r["loss"] for r in ROWS]}),
    "table": b"step,loss,learning_rate\n" + b"".join(b"%d,%f,0.0001\n" % (r["step"], r["loss"]) for r in ROWS),
    "configuration": b"learning_rate: 0.0001\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 4\n"
    b"fp16: true\nnum_train_epochs: 3\nmax_grad_norm: 1.0\n",
    "log_with_settings": b"------------------------ arguments ------------------------\n"
    b"  micro_batch_size ................................ 4\n  global_batch_size ............................... 256\n"
    b"  fp16 ............................................ True\n-------------------- end of arguments ---------------\n"
    b" iteration       10/     100 | consumed samples: 80 | lm loss: 2.5E+00 | loss scale: 1.0 | grad norm: 0.3 |\n",
}  # fmt: skip
"""By id of the format, in the order in which they are asked."""


def _lines(template: str) -> bytes:
    return "".join(template.format(step=r["step"], loss=r["loss"], n=r["step"] // 10) for r in ROWS).encode()


CONSOLES: dict[str, bytes] = {
    "megatron": _lines(
        " iteration {step:8d}/     100 | consumed samples: 80 | elapsed time per iteration (ms): 1500.0 | "
        "learning rate: 6.000E-05 | global batch size:     8 | lm loss: {loss:.6E} | loss scale: 1.0 | "
        "grad norm: 0.312 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    ),
    "hf_console": _lines(
        " {step}%|####      | {step}/100 [00:10<00:20,  2.00it/s]\n"
        "{{'loss': {loss}, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n"
    ),
    "torchtitan": _lines(
        "[rank0]:[titan] 2026-05-19 22:05:24,364 - root - INFO - \x1b[31mstep: {step}  \x1b[32mloss: {loss:8.4f}  "
        "\x1b[33mgrad_norm: 0.5000  \x1b[34mmemory: 75.22GiB(42.18%)  tps: 8,754  tflops: 737.59  mfu: 32.78%\x1b[39m\n"
    ),
    "nanogpt": _lines("iter {step}: loss {loss:.4f}, time 3000.50ms, mfu 22.50%\n"),
    "llm_c": _lines("step {step}/100 | loss {loss:.3f} (+1.2z)| norm 0.5 (+1.0z)| lr 8.57e-05 | 30.36 ms\n"),
    "deepspeed": _lines(
        "[2023-04-18 08:48:36,035] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=1, lr=[5e-05, 5e-05], "
        "mom=[(0.9, 0.95), (0.9, 0.95)]\n"
    ),
    "composer": _lines("[batch={step}/100]:\n\t Train loss/train/total: {loss:.4f}\n\t Train time/batch: {step}\n"),
    "keras": _lines("Epoch {n}/10\r\n 50/100 [==>...] - ETA: 2s - loss: {loss}\r100/100 [====] - 3s - loss: {loss}\n"),
    "progress_bar": _lines("Epoch {n}: 100%|####| 100/100 [00:10<00:00, 9.9it/s, loss={loss:.3f}, v_num=1]\r\n"),
    "key_values": _lines("2024-05-01 12:00:00,123 - INFO - train - step {step} loss {loss} lr 1e-4 grad_norm 0.8\n"),
    "underflow": b"Detected inf/nan during batch_number=3\nLast 21 forward frames:\nabs min  abs max  metadata\n"
    b"                  encoder.block.2.layer.1.wo Linear\n1.01e-06 6.44e+00 weight\n3.18e-04 6.27e+04 output\n"
    b"                  encoder.block.2.layer.1.dropout Dropout\n0.00e+00      inf output\n",
    "events": b"[rank3]: Traceback (most recent call last):\n"
    b'[rank3]:   File "/home/me/train.py", line 12, in step\n[rank3]:     loss.backward()\n'
    b"[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    b"[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
    b"WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds\n",
}
"""By what prints so; all are read as console logs."""
