"""Real files beside the project: what their labels say is read, and healthy machines state no trouble."""

from __future__ import annotations

import pytest

from engine.evidence.readers import read

TROUBLE = {
    "gpu/dmesg_xid_119_gsp_timeout.log": ("kernel_log", {"gpu.xid": 119.0}),
    "gpu/m4_hang_nvidia_smi_csv.txt": ("nvidia_smi_csv", {"gpu.one_idle": True, "gpu.odd": "0"}),
    "gpu/m4_hang_nvidia_smi_table.txt": ("nvidia_smi", {"gpu.one_idle": True, "gpu.odd": "0"}),
    "gpu/nvidia_smi_q_row_remap_pending.txt": ("nvidia_smi_q", {"gpu.remap_pending": True, "gpu.ecc_corrected": 177.0}),
    "prometheus/alertmanager_webhook_instance_down.json": ("alerts", {"alert.names": "Instance Is Down"}),
}
HEALTHY = {
    "gpu/journalctl_calico.log": "kernel_log",
    "gpu/m4_hang_nvidia_smi_q_gpu0.txt": "nvidia_smi_q",
    "gpu/nvidia_smi_q_h100_driver_text_bug.txt": "nvidia_smi_q",
    "gpu/nvidia_smi_table_8xh100_idle.txt": "nvidia_smi",
    "gpu/nvlink_status_a100.txt": "nvlink_status",
    "prometheus/dcgm_exporter_vgpu.prom": "prometheus_text",
    "prometheus/range_query_matrix_node_cpu.json": "prometheus_query",
}


@pytest.mark.parametrize("path", TROUBLE)
def test_labelled_trouble(path, samples, facts):
    form, wanted = TROUBLE[path]
    record = read(samples / path)
    assert record.read.format == form
    assert wanted.items() <= facts(record).items()


@pytest.mark.parametrize("path", HEALTHY)
def test_healthy_machines(path, samples, facts, findings):
    record = read(samples / path)
    assert record.read.format == HEALTHY[path]
    assert findings(record) == []
    assert not any(value is True for value in facts(record).values())
    assert facts(record).get("nvlink.inactive_links", 0.0) == 0.0


def test_a_hung_task_names_python_and_its_file_system(samples, findings):
    record = read(samples / "gpu/m4_hang_dmesg_hung_task.txt")
    assert findings(record) == ["io.blocked-process", "storage.not-responding"]
    assert record.readings[0].source.quote.startswith("python blocked in the file system (mmfs")


def test_six_hundred_lines_are_few_events(samples):
    record = read(samples / "gpu/dmesg_xid_13_43_flood.log")
    assert record.read.records == len(record.events) == 16
