"""What the machines say: GPUs, kernel, scheduler, monitoring."""

from __future__ import annotations

from engine.evidence.readers.format import Format
from engine.evidence.readers.machines.alerts import ALERTS
from engine.evidence.readers.machines.exposition import EXPOSITION
from engine.evidence.readers.machines.kernel_log import KERNEL_LOG
from engine.evidence.readers.machines.links import IBSTAT, LSPCI, NVLINK
from engine.evidence.readers.machines.query_result import QUERY_RESULT
from engine.evidence.readers.machines.slurm import SACCT, SCONTROL
from engine.evidence.readers.machines.smi_csv import SMI_CSV
from engine.evidence.readers.machines.smi_query import SMI_QUERY
from engine.evidence.readers.machines.smi_table import SMI_TABLE

FORMATS: tuple[Format, ...] = (
    ALERTS, QUERY_RESULT, SMI_TABLE, SMI_QUERY, SMI_CSV, NVLINK, IBSTAT, LSPCI, SACCT, SCONTROL, EXPOSITION, KERNEL_LOG,
)  # fmt: skip
