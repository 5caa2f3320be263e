"""Executors for sweeps: processes of this host, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

CONNECT_SECONDS = 10


@contextlib.contextmanager
def workers(jobs: int, scheduler: str | None) -> Iterator[Executor | None]:
    """An executor of that many processes, or of the cluster whose scheduler has that address; None
    for one job here. ValueError when there is no scheduler, or `distributed` is not installed.

    Workers of a cluster need neuron_sim, and the target's files under the same paths.
    """
    if scheduler is not None:
        with _cluster(scheduler) as executor:
            yield executor
    elif jobs <= 1:
        yield None
    else:
        # Spawned: a fork of a process with threads may hang.
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_ignore_interrupts)
        try:
            yield executor
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole group of processes; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _cluster(scheduler: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # an optional extra
    except ImportError as error:
        raise ValueError("--scheduler needs Dask: pip install neuron_sim[sweep].") from error
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0]
        raise ValueError(f"no Dask scheduler answers at '{scheduler}': {reason}.") from error
    with client:
        # A point is timed anew elsewhere when its worker dies.
        yield client.get_executor(pure=False)
