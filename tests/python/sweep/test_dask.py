"""Sweeps on a Dask cluster of two workers: the same table, also when one of them is killed."""

import os
import signal
import threading
import time

import pytest
from neuron_sim.sweep import run_sweep
from neuron_sim.sweep.workers import workers
from test_sweep import STUDY

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes without nannies, which would start killed ones again."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
    ) as made:  # fmt: skip
        yield made


def test_a_cluster_gives_the_table_of_a_serial_run_and_survives_a_killed_worker(cluster, tmp_path):
    killed = []

    def kill():
        """One worker, as soon as ten points are known."""
        path = tmp_path / "results.jsonl"
        while not (path.exists() and path.read_text().count("\n") >= 10):
            time.sleep(0.005)
        with distributed.Client(cluster.scheduler_address) as client:
            pids = client.run(os.getpid)
        killed.append(next(iter(pids.values())))
        os.kill(killed[0], signal.SIGKILL)

    watching = threading.Thread(target=kill)
    watching.start()
    with workers(1, cluster.scheduler_address) as executor:
        rows = run_sweep(STUDY, executor, tmp_path / "results.jsonl")
    watching.join()
    assert killed and rows == run_sweep(STUDY)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 200


def test_a_scheduler_that_does_not_answer_is_named():
    with (
        pytest.raises(ValueError, match="no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
        workers(1, "tcp://127.0.0.1:9"),
    ):
        pass
