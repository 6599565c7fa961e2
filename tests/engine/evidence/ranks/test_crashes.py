"""A log that ends in an error nobody knows, of a program in any language, says so with its first own frame."""

from __future__ import annotations

import pytest

from engine.evidence.ranks.crashes import last_error
from engine.evidence.ranks.incident import incident
from engine.evidence.readers import read

RECORDS = "".join(f"step {step} | loss {3 - step / 100:.3f} | lr 3e-4\n" for step in range(30))
ENDS = {
    "C++ exception": (
        "terminate called after throwing an instance of 'grid::Error'\n  what():  table 17 is odd\nAborted\n",
        "what():  table 17 is odd",
    ),
    "glog check": (
        (
            "F0302 11:04:51.123456 1234 grid.cc:88] Check failed: a == b (3 vs. 4) sizes\n"
            "    @     0x7f1  google::Log::Fail()\n    @     0x7f2  grid::Table::insert()\n    @     0x7f3  main\n"
        ),
        "at grid::Table::insert()",
    ),
    "Open MPI": (
        (
            "[n1:12] *** Process received signal ***\n[n1:12] Signal: Segmentation fault (11)\n"
            "[n1:12] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x42520)[0x7f]\n[n1:12] [ 1] /opt/g.so(launch+0x1a)[0x7e]\n"
        ),
        "at /opt/g.so(launch+0x1a)",
    ),
    "sanitizer": (
        "==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60\n    #0 0x7f in grid_put /src/grid.c:12\n",
        "at grid_put /src/grid.c:12",
    ),
    "assertion": ("python: grid.c:88: insert: Assertion `n > 0' failed.\n", "`n > 0' failed"),
    "Java": (
        (
            'Exception in thread "main" org.grid.GridException: x\n\tat java.base/java.util.List.get(List.java:1)\n'
            "\tat org.grid.Main.run(Main.scala:212)\nCaused by: java.io.UTFDataFormatException: no footer\n"
        ),
        "at org.grid.Main.run(Main.scala:212)",
    ),
    "Go": (
        (
            "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.put(...)\n"
            "\t/usr/lib/go/src/slices/a.go:4\n\t/home/me/grid.go:17 +0x1d\nexit status 2\n"
        ),
        "at /home/me/grid.go:17",
    ),
    "Rust": ("thread 'main' panicked at src/grid.rs:17:9:\ntable is odd\n", "src/grid.rs:17:9"),
    "shell": ("+ gridctl start\n./run.sh: line 12: gridctl: command not found\n", "gridctl: command not found"),
    "shell variable": ("./run.sh: line 14: CKPT: unbound variable\n", "CKPT: unbound variable"),
    "make": ("make: *** [Makefile:12: train] Error 1\n", "[Makefile:12: train] Error 1"),
    "exception group": (
        (
            "  + Exception Group Traceback (most recent call last):\n"
            '  |   File "/home/me/run.py", line 12, in <module>\n'
            "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
            "  +-+---------------- 1 ----------------\n"
            "    | Traceback (most recent call last):\n"
            '    |   File "/home/me/work.py", line 8, in fetch\n'
            "    | GridError: widget 7 is lost\n"
            "    +------------------------------------\n"
        ),
        "GridError: widget 7 is lost at /home/me/work.py:8 in fetch",
    ),
    "level": ("2026-03-02 11:04:52,117 ERROR train: gave up: state 17\n", "gave up: state 17"),
}


def unrecognised(text):
    record = read(text.encode(), "log")
    found = {one.finding: one.source for one in incident([record], []) if hasattr(one, "finding")}
    return found.get("error.unrecognised"), record.end.kind


@pytest.mark.parametrize("before", ["", RECORDS], ids=["alone", "after records"])
@pytest.mark.parametrize("name", ENDS)
def test_an_error_at_the_end_is_said_with_its_own_frame(name, before):
    text, quote = ENDS[name]
    source, end = unrecognised(before + text)
    assert source is not None
    assert quote in source.quote
    assert end == ("unknown" if name == "level" else "crashed")


@pytest.mark.parametrize("name", sorted(set(ENDS) - {"exception group"}))
def test_an_error_that_the_run_survived_is_not_its_end(name):
    assert unrecognised(ENDS[name][0] + RECORDS) == (None, "unknown")


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: could not send usage statistics\nTraining completed\n",
        "0 errors, 3 warnings\n",
        "error rate: 0.02\n",
        "eval/error_rate | 0.1\n",
        "checked 3 files: no errors\n",
        "INFO train: on error the batch is skipped\n",
        "panic mode off\n",
    ],
)
def test_lines_that_only_speak_of_errors_end_no_log(text):
    assert unrecognised(RECORDS + text)[0] is None


def test_a_log_without_lines_ends_in_no_error():
    assert last_error(read(b"", "log")) is None
