"""Lines that look bad and are harmless: no signature takes them. They are what fires other tools falsely."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import re2

from engine.knowledge.knowledge import Knowledge
from engine.model.kb import Signature

Taken = Callable[[str], list[Signature]]

HARMLESS = [
    # variables that people set on purpose, and start-up notices
    "node7:410:933 [5] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
    "node7:410:933 [5] NCCL INFO NCCL_ASYNC_ERROR_HANDLING set by environment to 1.",
    "[I ProcessGroupNCCL.cpp:905] [PG 0 Rank 0] ProcessGroupNCCL initialization options: size: 8, TIMEOUT(ms): 600000",
    "node7:410:933 [5] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
    "node7:410:933 [5] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.2.0.17<0>",
    "node7:410:933 [5] NCCL INFO Channel 00 : 0[1b000] -> 1[1c000] via SHM/direct/direct",
    "node7:410:933 [5] NCCL INFO comm 0x55 rank 3 nranks 16 cudaDev 3 - Init COMPLETE",
    "W0412 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each process to be 1",
    # counts of zero and settings that name a trouble
    "number of nan iterations:   0 | number of skipped iterations:   0 |",
    "data check: found 0 nan values in 812 columns",
    "ECC Errors: Volatile uncorrectable: 0",
    "logging_nan_inf_filter=True, nan_to_num=False, dataloader_timeout=1800",
    "  detect_anomaly .................................. False",
    "  exit_on_nan: true, max_nan_skips: 3",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0 (channel:0 slot:0)",
    # paths
    "caching the index under /dev/shm/run7/index, 41 GB",
    "writing kernels to /tmp/torchinductor_user/4k",
    "loading /data/error_analysis/timeout_cases.jsonl, 1200 rows",
    # notices of a healthy run
    "find_unused_parameters=True was specified, but did not find any unused parameters in the forward pass.",
    "Special tokens have been added in the vocabulary, make sure the associated word embeddings are trained.",
    "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
    "Setting `pad_token_id` to `eos_token_id`:2 for open-end generation.",
    "FutureWarning: `tokenizer` is deprecated and will be removed in version 5.0.0 for `Trainer.__init__`.",
    "Loading checkpoint shards: 100%|##########| 4/4 [00:12<00:00,  3.1s/it]",
    "Some weights of the model were converted to bfloat16",
    "successfully loaded checkpoint from /ckpt at iteration 9000",
    "Early stopping triggered: no improvement for 5 evaluations",
    "retrying download of shard 12 (1 of 5)",
    "[exiting program after 1430.2 minutes] datetime: 2026-01-02 03:04:05",
    "srun: job 91 has been allocated resources",
    "slurmstepd: job 70133 completed, exit code 0",
    # kernel lines of healthy hosts
    "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
    "nvidia-nvswitch2: open (major=240)",
    "IPv6: ADDRCONF(NETDEV_CHANGE): cali7379814f4e7: link becomes ready",
    "NVRM: Xid (PCI:0000:38:00): 45, pid=1234, name=pt_main_thread, Ch 00000008",
    "NVRM: Xid (PCI:0000:1b:00): 63, Row Remapper: new row marked for remapping",
    "sshd[30462]: segfault at 0 ip 0000000000000000 sp 00007ffe8ceaabb8 error 14 in sshd[55d80c773000+d0000]",
    "mlx5_core 0000:c1:00.0: Port module event: module 0, Cable plugged",
    "EXT4-fs (nvme1n1p1): mounted filesystem with ordered data mode. Quota mode: none.",
    "pcieport 0000:9a:01.0: AER: Corrected error message received from 0000:9b:00.0",
    "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1584036171 wd_nsec: 1584036160",
    # monitoring
    'DCGM_FI_DEV_XID_ERRORS{gpu="0",err_code="0",err_msg="No Error"} 0',
    "| Memtest                   | Pass - All                                     |",
]
FOLLOW_UPS = {
    "[rank1]:[E ProcessGroupNCCL.cpp:2168] To avoid data inconsistency, we are taking the entire process down.",
    "[E] Process group watchdog thread terminated with exception: CUDA error: unspecified",
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 3 (pid: 4123)",
    "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 4120 closing signal SIGTERM",
    "srun: Job step aborted: Waiting up to 62 seconds for job step to finish.",
    "slurmstepd: error: *** STEP 1809579.0 ON r0i0n1 CANCELLED AT 2021-05-23T08:45:57 ***",
    "[launch.py:325:sigkill_handler] Killing subprocess 45563",
}


@pytest.fixture(scope="module")
def taken(knowledge: Knowledge) -> Taken:
    """Return the signatures that take a line; all patterns stand in one set, guards are looked at on hits only."""
    signatures = tuple(knowledge.signatures.values())
    options = re2.Options()
    options.max_mem = 64 << 20  # as in the product: the default of 8 MiB does not hold all patterns
    patterns = re2.Set.SearchSet(options)
    for signature in signatures:
        patterns.Add(signature.pattern)
    patterns.Compile()

    def get(line: str) -> list[Signature]:
        hits = [signatures[index] for index in patterns.Match(line) or ()]
        return [one for one in hits if one.unless is None or re2.search(one.unless, line) is None]

    return get


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_lines(line: str, taken: Taken) -> None:
    assert [signature.id for signature in taken(line)] == []


@pytest.mark.parametrize("line", sorted(FOLLOW_UPS))
def test_follow_ups_are_never_the_root(line: str, taken: Taken) -> None:
    roles = {signature.role for signature in taken(line)}
    assert roles
    assert "root" not in roles


def test_an_example_of_one_area_is_not_taken_everywhere(knowledge: Knowledge, taken: Taken) -> None:
    """A line may say two things; one that five signatures take shows a pattern that is too wide."""
    lines = {line for signature in knowledge.signatures.values() for line in signature.examples}
    assert {line: len(found) for line in lines if len(found := taken(line)) > 4} == {}


def test_each_signature_has_a_line_it_leaves_alone(knowledge: Knowledge) -> None:
    bare = [signature.id for signature in knowledge.signatures.values() if not signature.counter_examples]
    assert bare == []
