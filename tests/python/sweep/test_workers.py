"""Processes of a sweep end with it, whatever they run."""

import os
import signal
import subprocess
import sys
import time

import pytest

SLOW = """
import os, pathlib, time
def slow(size):
    pathlib.Path(f"{os.getpid()}.worker").touch()
    time.sleep(600)
"""
SECONDS = 120
"""Far less than a point takes, far more than a loaded host needs."""


def eventually(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def runs(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_that_run_a_point_end_with_the_sweep(tmp_path, sent):
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "neuron_sim", "sweep", "slow.py:slow", "--jobs", "2",
               "--over", "size=1,2,3,4"]  # fmt: skip
    sweep = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    eventually(lambda: len(list(tmp_path.glob("*.worker"))) == 2)
    workers = [int(file.stem) for file in tmp_path.glob("*.worker")]
    assert all(runs(worker) for worker in workers)
    sweep.send_signal(sent)
    sweep.wait(SECONDS)
    assert sweep.returncode == (130 if sent == signal.SIGINT else -sent)
    assert os.path.exists(tmp_path / "sweep.jsonl")
    eventually(lambda: not any(runs(worker) for worker in workers))
    told = sweep.stderr.read()
    assert "Traceback" not in told
    assert ("stopped: 0 of 4 points" in told) == (sent == signal.SIGINT)
