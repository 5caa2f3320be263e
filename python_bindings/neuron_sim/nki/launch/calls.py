"""A kernel called with arrays: bound to its arguments and traced."""

import copy
import functools
import inspect

from ..legality.judge import judge_program, judge_source
from ..lowering.movement import store
from ..syntax.places import point_at_definition, point_at_kernel, point_at_message
from ..tracing import creation
from ..tracing.active import running
from ..tracing.allocation import Allocation
from ..tracing.architecture import architecture_at
from ..tracing.buffers import shared_hbm
from ..tracing.control_flow.control import Control
from ..tracing.errors import Retrace, Unroll
from ..tracing.expression import variable
from ..tracing.tensor import Tensor
from ..tracing.trace import Trace
from . import eager, keywords, memory, program_cache, sanitize, wrong_arguments
from .arrays import Input, Placeholder, mapped
from .last_branches import LoopNumber
from .programs import Programs
from .traced_kernel import Output, TracedKernel


class Call:
    """A call of a kernel: its function, bound arguments and how it is traced.

    `directives`: names of the decorators of nki.compiler. `mutable(parameter)` says whether an
    array parameter may be written; `widens`: tiles of low precision are stored as fp32.
    `schedule`: names of instructions (consumer, producers) between which there is an order.
    `flags` of the compiler.
    """

    def __init__(
        self,
        function,
        args,
        kwargs,
        language: str,
        architecture: str,
        grid: tuple = (),
        cores: int = 1,
        directives: frozenset = frozenset(),
        mutable=None,
        widens: bool = False,
        schedule: tuple = (),
        flags: tuple[str, ...] = (),
    ):
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.language = language
        self.architecture = architecture
        self.grid = grid
        self.cores = cores
        self.directives = directives
        self.mutable = mutable
        self.widens = widens
        self.schedule = schedule
        self.flags = flags
        self.unreturned: frozenset[str] = frozenset()  # shared tensors that count as scratch
        self.arrays: list = []
        self.inputs: list[Input] = []
        if not callable(function):
            raise TypeError(f"a kernel is a function, not {self.name} {function!r:.40}.")
        signature = inspect.signature(function)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"kernel '{self.name}{signature}': {error}.") from None
        self.parameters = signature.parameters
        self.mutable_inputs: list[bool] = []
        self.args = tuple(self._taken(value, name) for name, value in _positional(bound))
        self.kwargs = {name: self._taken(value, name) for name, value in bound.kwargs.items()}

    @property
    def generation(self) -> int:
        """Of the NeuronCore that it is traced for."""
        return architecture_at(self.architecture).queries["get_nc_version"]

    def _taken(self, value, parameter: str):
        def convert(array, name):
            position = len(self.arrays)
            if 0 in array.shape:
                raise ValueError(
                    f"kernel '{self.name}': input '{name}' of shape {list(array.shape)} has no "
                    "elements."
                )
            self.arrays.append(array)
            self.inputs.append(Input(name, array))
            allowed = self.mutable is None or self.mutable(self.parameters.get(parameter))
            self.mutable_inputs.append(allowed)
            return Placeholder(position)

        return mapped(value, convert, parameter)

    def trace(self, prints: bool = False) -> TracedKernel:
        """The kernel's program for these arguments, which may come from an earlier call; `prints`
        as in trace_anew()."""
        traced = program_cache.find_or_trace(self, prints)
        sanitize.report(traced.findings)
        return traced

    def run(self):
        """What the kernel returns for the arrays of the call. ValueError where eager execution is
        wanted but cannot be."""
        return eager.run_call(self)

    def check_whole(self, why: str) -> None:
        """eager.check_whole() for this kernel."""
        eager.check_whole(self.name, why)

    def trace_anew(self, prints: bool = False, arrays: list | None = None) -> TracedKernel:
        """Traces the kernel, again when a loop has to be unrolled or an output is found.

        `prints`: nl.device_print's output is part of the program. `arrays`: the contents of its
        inputs, for which it runs meanwhile.
        """
        judge_source(self)
        unrolled: frozenset = frozenset()
        outputs: frozenset = frozenset()
        widens, side_by_side = self.widens, False
        splits = arrays is not None  # at once, because prints of another trace would be repeated
        checked: TracedKernel | None = None  # and retraced to distinguish the tiles of rings
        refused: Exception | None = None  # before it was traced as last_branches.py describes
        while True:
            trace = self._new_trace(unrolled, widens, prints, arrays)
            trace.output_ordinals = outputs
            trace.allocation = Allocation(self.directives, checked is not None)
            trace.splits_blocks = splits
            trace.counts_as = int if refused is None else LoopNumber
            if side_by_side:
                trace.programs = Programs(trace, self.grid)
            try:
                traced = self._traced(trace)
                if checked is not None:
                    checked.findings = sanitize.replace_overwrites(
                        checked.findings, traced.findings
                    )
                elif sanitize.wanted() and trace.allocation.has_rings:
                    checked = traced
                    continue
                memory.explain(traced)
                return checked or traced
            except Unroll as request:
                unrolled |= frozenset(request.keys)
            except Retrace as request:
                outputs = trace.output_ordinals
                side_by_side = side_by_side or request.reason == "programs"
                widens = widens and request.reason != "exact"
            except Exception as error:
                if isinstance(error, MemoryError) and trace.has_blocks and not splits:
                    splits = True
                    continue
                if not trace.is_old and keywords.provided(error):
                    continue
                if widens:  # the real dtypes decide whether this is an error of the kernel
                    widens = False
                    continue
                if not trace.broken:
                    if isinstance(error, creation.NoElements) and refused is None and trace.is_old:
                        refused = error
                        continue
                    error = refused or error
                    told = wrong_arguments.named(error)
                    point_at_kernel(told)
                    point_at_message(told)  # of what is found when the kernel ends
                    point_at_definition(told, self.function)
                    if told is error and refused is None:
                        raise
                    raise told from None
                unrolled = unrolled | frozenset(trace.broken)

    def _new_trace(self, unrolled, widens: bool, prints: bool, arrays: list | None) -> Trace:
        trace = Trace(self.name, self.architecture, self.language, unrolled, widens)
        trace.is_simulation = self.widens
        trace.unreturned = self.unreturned
        trace.printed = [] if prints else None
        if arrays is not None:
            trace.eager = eager.EagerRun(trace, [each.copy() for each in arrays])
        return trace

    def _traced(self, trace: Trace) -> TracedKernel:
        tensors = [creation.argument(trace, each.name, each.shape, each.dtype)
                   for each in self.inputs]  # fmt: skip
        for tensor, mutable in zip(tensors, self.mutable_inputs, strict=True):
            tensor.storage.mutable = mutable
        args = tuple(filled(value, tensors) for value in self.args)
        kwargs = {name: filled(value, tensors) for name, value in self.kwargs.items()}
        running.append(trace)
        try:
            if self.cores > 1:
                returned = self._per_core(trace, args, kwargs)
            else:
                returned = self._instances(trace, 0, (), args, kwargs)
            if trace.broken:
                raise Unroll(list(trace.broken))
            results = _outputs(trace, returned)
            trace.allocation.check_scratch(
                [storage.name for storage in trace.hbm if storage.argument is None]
            )
            source = trace.finish()
            memory.check_fits(source)
        finally:
            running.pop()
        direct = "skip_middle_end_transformations" in self.directives
        traced = TracedKernel(trace, source, self.inputs, results, direct, self.widens, self.flags)
        traced.call = copy.copy(self)
        traced.call.arrays = []
        self._check_outputs(traced)
        judge_program(self, trace, source, set(traced.returned_numbers()))
        traced.findings = sanitize.findings_of(traced)
        traced.contents = None if trace.eager is None else trace.eager.contents()
        traced.has_prints = trace.has_prints
        if trace.has_prints and trace.printed is None and trace.eager is None:
            traced.with_prints = functools.partial(self.trace_anew, prints=True)
        return traced

    def _check_outputs(self, traced: TracedKernel) -> None:
        """err_tensor_output_not_written_to, err_mutable_parameter_not_returned."""
        if self.language == "old":
            traced.check_written()
        arguments = traced.source.arguments
        returned = set(traced.returned_numbers())
        if self.mutable is None or not returned:
            return
        for number, argument in enumerate(arguments[: len(self.inputs)]):
            if argument["written"] and number not in returned:
                raise ValueError(
                    f"Mutable kernel parameter `{argument['label']}` not returned by `return` "
                    "statement"
                )

    def _per_core(self, trace: Trace, args, kwargs):
        """New language: the grid is the cores of a logical core."""
        trace.grid = self.grid
        returned = None
        for core in range(self.cores):
            trace._builder.open_core(core)
            trace.core = core
            trace.program_ids = (core,)
            trace.next_hbm = 0
            trace.control = Control(trace)  # registers and instructions are those of a core
            returned = self.function(*args, **kwargs)
            trace.settle()
            trace.control.schedule(self.schedule)
            trace._builder.close_core()
        return returned

    def _instances(self, trace: Trace, axis: int, ids: tuple, args, kwargs):
        """Old language: instances run one after another, as the outermost loops."""
        trace.grid = self.grid
        if trace.programs is not None:
            return trace.programs.run(self.function, args, kwargs)
        if axis == len(self.grid):
            trace.program_ids = ids
            trace.next_hbm = 0
            returned = self.function(*args, **kwargs)
            trace.control.schedule(self.schedule)
            return returned
        size = self.grid[axis]
        key = ("program_id", axis)
        returned = None
        if size == 1 or key in trace.unrolled or trace.eager is not None:
            trace.settle()
            claim = trace.claims.iterations("instance", "") if size > 1 else None
            for value in range(size):
                returned = self._instances(trace, axis + 1, (*ids, value), args, kwargs)
                if claim is not None:
                    trace.settle()
                    claim.next()
            return returned
        loop = trace.open_loop(key, f"program_id({axis})", "program", size)
        returned = self._instances(trace, axis + 1, (*ids, variable(loop)), args, kwargs)
        trace.close_loop()
        return returned


def _positional(bound) -> list:
    """(parameter name, value) of the positional arguments; *args under their common name."""
    result = []
    names = list(bound.signature.parameters.values())
    for position, value in enumerate(bound.args):
        if position < len(names) and names[position].kind is not inspect.Parameter.VAR_POSITIONAL:
            result.append((names[position].name, value))
        else:
            result.append((names[min(position, len(names) - 1)].name, value))
    return result


def filled(value, tensors: list):
    """`value` with the tensors that its Placeholders stand for."""
    if type(value) is Placeholder:
        return tensors[value.position]
    if type(value) in (tuple, list):
        return type(value)(filled(each, tensors) for each in value)
    if type(value) is dict:
        return {key: filled(each, tensors) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(filled(each, tensors) for each in value))
    return value


def _in_hbm(trace: Trace, tile: Tensor) -> Tensor:
    """A tile that a kernel returns, which the vendor's simulation allows, as an output."""
    trace.next_hbm = max(trace.next_hbm, len(trace.hbm))
    output = creation.ndarray(tile.shape, tile.dtype, shared_hbm, f"{tile.name}_output")
    store(output, tile)
    return output


def _outputs(trace: Trace, value):
    """The kernel's result with Output for tensors; ValueError for a tile."""
    if isinstance(value, Tensor):
        storage = value.settle().storage
        if value.axis is not None and trace.is_simulation:
            return _outputs(trace, _in_hbm(trace, value))
        if value.axis is not None:
            raise ValueError(
                f"a kernel returns tensors in hbm, but `{value.name}` is in {value.memory}."
            )
        if storage.argument is None:
            creation.as_output(trace, storage)
            raise ValueError(f"a kernel cannot return the constant `{value.name}`.")
        return Output(storage.argument, value.shape)
    if type(value) in (tuple, list):
        return type(value)(_outputs(trace, each) for each in value)
    if type(value) is dict:
        return {key: _outputs(trace, each) for key, each in value.items()}
    return value
