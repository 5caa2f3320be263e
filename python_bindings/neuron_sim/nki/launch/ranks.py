"""A kernel on several ranks at once, each with its own arrays and cores."""

from typing import Any

from neuron_sim import _core

from ..syntax.places import entry
from . import eager
from .arrays import is_array
from .traced_kernel import is_timing_only


class PerRank:
    """An argument that differs from rank to rank: values[r] is rank r's."""

    __slots__ = ("values",)

    def __init__(self, values):
        self.values = tuple(values)

    def __repr__(self):
        return f"PerRank of {len(self.values)} ranks"


class RankedKernel:
    """A kernel that every call runs on `ranks` ranks, which meet at their collectives.

    Arguments are the same on all ranks, except PerRank ones, which may hold anything that the
    kernel takes. A call returns the list of the ranks' results. The kernel is traced once per
    distinct set of arguments; an array that it writes must be a PerRank, unless there is one rank.
    """

    def __init__(self, kernel, ranks: int):
        self.kernel = kernel
        self.ranks = int(ranks)
        self.__name__ = kernel.__name__
        if self.ranks < 1:
            raise ValueError(f"kernel '{self.__name__}' runs on {ranks} ranks; at least 1 is.")

    def __getitem__(self, grid) -> "RankedKernel":
        return RankedKernel(self.kernel[grid], self.ranks)

    @entry
    def traced(self, *args, **kwargs) -> list:
        """The program of every rank; equal arguments give the same one."""
        return [call.trace() for call in self._calls(args, kwargs)]

    @entry
    def __call__(self, *args, **kwargs) -> list:
        eager.check_whole(self.__name__, "runs on several ranks")
        calls = self._calls(args, kwargs)
        traced = [call.trace() for call in calls]
        self._check_written(calls, traced)
        if is_timing_only():
            return [each.run(call.arrays) for each, call in zip(traced, calls, strict=True)]
        runs = [each.prepared(call.arrays) for each, call in zip(traced, calls, strict=True)]
        logs = _core.run_ranks([run.source for run in runs], [run.bytes for run in runs])
        for each, log in reversed(list(zip(traced, logs, strict=True))):  # rank 0 is timed
            each.note_run(log)
        results = [run.results() for run in runs]
        traced[0].record_profile()
        return results

    def _calls(self, args: tuple, kwargs: dict) -> list:
        calls = []
        for rank in range(self.ranks):
            own = [self._of_rank(value, rank) for value in args]
            named = {name: self._of_rank(value, rank) for name, value in kwargs.items()}
            calls.append(self.kernel.call(*own, **named))
        return calls

    def _of_rank(self, value: Any, rank: int) -> Any:
        if not isinstance(value, PerRank):
            return value
        if len(value.values) != self.ranks:
            raise ValueError(
                f"kernel '{self.__name__}' runs on {self.ranks} ranks, but an argument is a "
                f"{value!r}."
            )
        return value.values[rank]

    def _check_written(self, calls: list, traced: list) -> None:
        """ValueError for an array that several ranks share and one writes."""
        owner: dict = {}
        for rank, (call, each) in enumerate(zip(calls, traced, strict=True)):
            arguments = each.source.arguments
            for position, array in enumerate(call.arrays):
                if not is_array(array) or isinstance(array, type):
                    continue
                first = owner.setdefault(id(array), (rank, arguments[position]["written"]))
                written = first[1] or arguments[position]["written"]
                if first[0] != rank and written:
                    raise ValueError(
                        f"kernel '{self.__name__}' writes input '{call.inputs[position].name}', "
                        "so every rank needs an array of its own: give them as PerRank."
                    )
