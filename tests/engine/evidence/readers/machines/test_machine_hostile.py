"""Whatever bytes follow a head that is recognised: a record, never an exception."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evidence.readers import read
from engine.evidence.readers.machines import FORMATS

HEADS = {
    "nvidia_smi": b"| NVIDIA-SMI 570.86  Driver Version: 570.86 |\n| GPU  Name | Bus-Id  Disp.A |\n",
    "nvidia_smi_q": b"==============NVSMI LOG==============\nGPU 00000000:07:00.0\n",
    "nvidia_smi_csv": b"index, utilization.gpu [%]\n",
    "nvlink_status": b"GPU 0: NVIDIA (UUID: GPU-5269)\n\t Link 0: 25 GB/s\n",
    "ibstat": b"CA 'mlx5_0'\n\tPort 1:\n\t\tPhysical state: LinkUp\n",
    "lspci": b"9b:00.0 3D controller: NVIDIA\n\t\tLnkCap: Width x16\n\t\tLnkSta: Width x16\n",
    "sacct": b"JobID|State|ExitCode|MaxRSS|ReqMem|NNodes\n",
    "scontrol": b"JobId=1 JobName=a\n   JobState=FAILED Reason=None\n",
    "prometheus_text": b"# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n",
    "kernel_log": b"[    1.000000] a\n[    1.000001] b\n[    1.000002] c\n",
    "prometheus_query": b'{"data": {"resultType": "matrix", "result": [',
    "alerts": b'{"groupKey": "", "commonLabels": {}, "alerts": [',
}
TAILS = st.one_of(
    st.binary(max_size=400),
    st.lists(
        st.sampled_from([
            b"|   0  NVIDIA A  On | 00000000:07:00.0 Off |  ERR! |", b"| N/A 9C P0 9W / 9W | 9MiB / 9MiB | 1e999% D |",
            b"0, 1e308 %", b"1, -5", b"1|FAILED|999999999999:9|9G|0G|0", b"1.0|X|1:1|1e999||", b"    ECC Errors",
            b"            DRAM Uncorrectable : 9999999999999999999999", b"    Link Width", b"        Max : 0x",
            b'DCGM_FI_DEV_GPU_UTIL{gpu="0"} NaN', b'DCGM_FI_DEV_XID_ERRORS{gpu="0"} +Inf',
            b'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0"} 1e300', b"NVRM: Xid (PCI::): 99999999999999, x",
            b"task a:1 blocked for more than 9 seconds", b"\t Link 1: <inactive>", b"\r\r\n", b"\xff\xfe", b"]}}",
        ]),
        max_size=12,
    ).map(b"\n".join),
)  # fmt: skip


def test_every_format_has_a_head():
    assert HEADS.keys() == {form.id for form in FORMATS}
    for name, head in HEADS.items():
        assert next(form.id for form in FORMATS if form.recognises(head)) == name


@pytest.mark.parametrize("name", HEADS)
@settings(max_examples=60, deadline=None)
@given(tail=TAILS)
def test_any_tail(name, tail):
    record = read(HEADS[name] + tail, "x")
    assert record.read.lines >= 0
    again = read(HEADS[name] + tail, "x")
    assert record.readings == again.readings


@pytest.mark.parametrize(
    "document",
    [
        {"data": {"resultType": "matrix", "result": [{"metric": {"__name__": "loss"}, "values": "x"}]}},
        {"data": {"resultType": "matrix", "result": [{"metric": [], "values": []}, None, 4]}},
        {"data": {"resultType": "scalar", "result": [1, "2"]}},
        {"data": {"resultType": "matrix", "result": {"a": 1}}},
        {
            "data": {
                "resultType": "matrix",
                "result": [{"metric": {"__name__": "loss"}, "values": [[1, "1"], [0, "2"]]}],
            }
        },
    ],
)
def test_odd_query_results(document):
    assert read(json.dumps(document).encode(), "q.json").read.format == "prometheus_query"


def test_deep_json():
    deep = b'{"resultType": "", "result": ' + b"[" * 100_000
    assert read(deep, "q.json").not_understood
