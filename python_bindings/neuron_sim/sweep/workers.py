"""Executors for sweeps: processes of this host, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from neuron_sim.terminal.extras import explained

CONNECT_SECONDS = 10


@contextlib.contextmanager
def workers(jobs: int, scheduler: str | None) -> Iterator[Executor | None]:
    """An executor of that many processes, or of the cluster whose scheduler has that address; None
    for one job here. ValueError when there is no scheduler, ModuleNotFoundError without Dask. An
    error within ends the processes at once, whatever they run; so does the end of this process.

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
        listening, held = context.Pipe(duplex=False)
        executor = ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_follow, initargs=(listening,)
        )
        try:
            yield executor
        except BaseException:
            held.close()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
            held.close()
            listening.close()


def _follow(listening: Connection) -> None:
    """Ends this process when the other end of the pipe is closed, by the first process or with it.
    Ctrl-C, which reaches the whole group of processes, is left to the first one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end() -> None:
        with contextlib.suppress(EOFError, OSError):
            listening.recv()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


@contextlib.contextmanager
def _cluster(scheduler: str) -> Iterator[Executor]:
    with explained("sweep"):
        from distributed import Client  # an optional extra
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0]
        raise ValueError(f"no Dask scheduler answers at '{scheduler}': {reason}.") from error
    with client:
        yield _ClusterExecutor(client)


class _ClusterExecutor(Executor):
    """Runs calls on a cluster; a call whose worker dies is run again on another one.

    Client.get_executor() takes a result for an error when its worker dies while it is fetched: the
    state of the task is `lost` by then, neither finished nor cancelled.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        task = self._client.submit(fn, *args, pure=False, **kwargs)
        future: Future[Any] = Future()

        def cancel(ended: Future[Any]) -> None:
            if ended.cancelled():
                task.cancel()

        def tell(task: Any) -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(task.result())  # waits where the worker died meanwhile
            except BaseException as error:
                future.set_exception(error)

        future.add_done_callback(cancel)
        task.add_done_callback(tell)
        return future
