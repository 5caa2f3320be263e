"""Sweeps on a Dask cluster of two workers: the same table, also when one of them is killed."""

import fcntl
import os
import signal

import pytest
from neuron_sim.sweep import Study, run_sweep
from neuron_sim.sweep.workers import workers
from test_sweep import GRID, SCALED, SIZES

distributed = pytest.importorskip("distributed")

FREE = 20
"""Points that are timed before the killer lets go of the gate."""

GATED = f"""
import fcntl
import numpy as np
from neuron_sim.sweep.point import loaded_module

def scaled(N, factor):
    if (N, factor) not in {[(size, 1.0) for size in SIZES[: FREE // 2]]}:
        with open(GATE) as gate:
            fcntl.flock(gate, fcntl.LOCK_SH)
    kernels = loaded_module({SCALED.rpartition(":")[0]!r}, 0)
    return kernels.scaled.traced(np.zeros((128, N), np.float32), factor)
"""


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes; their nannies start killed ones again."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
    ) as made:  # fmt: skip
        yield made


def test_a_cluster_gives_the_table_of_a_serial_run_and_survives_a_killed_worker(cluster, tmp_path):
    gate = tmp_path / "gate"
    gate.touch()
    module = tmp_path / "gated.py"
    module.write_text(f"GATE = {str(gate)!r}\n{GATED}")
    study = Study(f"{module}:scaled", GRID)
    with distributed.Client(cluster.scheduler_address) as client:
        pids = list(client.run(os.getpid).values())
    assert study.size == 200 and len(pids) == 2
    seen = []

    def kill_in_the_middle(done, total):
        """A worker, when half of the free points are known: the others wait for the gate."""
        seen.append(done)
        if done == FREE // 2:
            os.kill(pids[0], signal.SIGKILL)
            fcntl.flock(held, fcntl.LOCK_UN)

    with open(gate) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with workers(1, cluster.scheduler_address) as executor:
            rows = run_sweep(study, executor, tmp_path / "results.jsonl", kill_in_the_middle)
    assert seen == list(range(201))
    assert rows == run_sweep(study)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 200


def test_an_error_on_a_worker_is_the_error_of_the_call(cluster):
    with workers(1, cluster.scheduler_address) as executor:
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result()
        assert executor.submit(divmod, 7, b=2).exception() is not None
        assert executor.submit(divmod, 7, 2).result() == (3, 1)


def test_a_scheduler_that_does_not_answer_is_named():
    with (
        pytest.raises(ValueError, match="no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
        workers(1, "tcp://127.0.0.1:9"),
    ):
        pass
