"""Trace: one kernel while it is turned into a program."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from neuron_sim import _core

from ..syntax.loops import line_at
from ..syntax.places import is_internal, kernel_frame, place_at, place_of, point_at_place
from . import buffers
from .active import current
from .allocation import Allocation
from .architecture import architecture_at
from .assignments import check_annotation, warn_of_shadowing
from .control_flow import source_scopes
from .control_flow.claims import Claims
from .control_flow.control import Control
from .control_flow.dependences import output_dependencies
from .dtypes import WIDENED, DType, dtype_of, float32
from .errors import Unroll
from .expression import Loop
from .mask import InBoxes, boxes
from .tensor import Storage, Tensor

MAXIMUM_LOOP_DEPTH = 8  # of counted loops in a program


class Trace(_core.TraceState):
    """One run through a kernel.

    `architecture`: a name or a TOML file; `target`: its limits and features.
    `language`: "old" or "new". `unrolled`: keys of the loops to unroll. `scopes`: numbers of the
    scopes (bodies of loops) that are open. `program_ids`, `grid`: of the instance being traced.
    `widens`: tiles of low precision are stored as fp32, as the vendor's simulation does. `uses`: of
    tensors by instructions. `loops`: the counted loops that are open. The base class has `builder`,
    and `result` and `settle` for results that are not written yet.
    """

    _emit_in_parts: Callable[[Any, tuple, Exception], None]  # attached by nki.isa.splitting

    def __init__(self, name, architecture, language, unrolled=frozenset(), widens=False):
        super().__init__()
        self.name = name
        self.widens = widens
        self.architecture = architecture
        self.target = architecture_at(architecture)
        self.language = language
        self.unrolled = unrolled
        self.counts_as: type[int] = int  # of the variables of unrolled loops
        self.is_old = language == "old"
        self.scopes.add(0)
        self.open_scopes.append(0)
        self.next_scope = 1
        self.broken: list = []  # keys of symbolic loops that were left early
        self.grid: tuple = ()
        self.program_ids: tuple = ()
        self.programs: Any = None  # programs.Programs, where they are traced side by side
        self.core = 0
        self.is_simulation = False  # of the old language, more tolerant than its compiler
        self.hbm: list[Storage] = []  # HBM tensors the kernel created, by ordinal
        self.next_hbm = 0
        self.output_ordinals: frozenset = frozenset()  # private ones that the kernel returns
        self.unreturned: frozenset = frozenset()  # names of shared ones that count as scratch
        self.inputs: list[Storage] = []
        self.arguments: list[Storage] = []
        self.allocation = Allocation()
        self.declared: dict[int, str] = {}  # lines that made the arguments, by number
        self._builder = _core.Builder(name, architecture, placement="automatic")
        self.claims = Claims(self._builder)
        self._failed: BaseException | None = None
        self.splits_blocks = False  # every block of a tensor is placed alone
        self.has_blocks = False
        self.constants: dict = {}  # tiles of one value that operators made: see constant()
        self.has_widened = False  # a tile is larger than the kernel declares it
        self.reductions: dict = {}  # storages that loop_reduce wrote first: its first iteration
        self.noted: list = []  # (rule, place, detail) of what nki.legality judges
        self.prepared: Any = None  # a collective that waits for its trigger
        self.has_prints = False
        self.printed: list | None = None  # of nl.device_print, when they are part of the program
        self.control = Control(self)
        self.eager: Any = None  # launch.eager.EagerRun, when instructions run as they are traced

    def assigned_name(self, otherwise: str, shape: tuple | None = None) -> str:
        """The name that the kernel's current line assigns to, for messages.

        `shape`: of a tensor that the kernel makes here. ValueError when its annotation has another.
        """
        frame = kernel_frame()
        name = "" if frame is None else self._name_at(frame, place_of(frame), shape)
        return name or otherwise

    def _name_at(self, frame, place: tuple, shape: tuple | None) -> str:
        _, name, annotation, *_ = place
        if shape is None or not name:
            return name
        if annotation:
            check_annotation(frame, name, annotation, shape)
        if self.loops and self.is_old and id(place) not in self._unshadowed:  # places stay
            self._unshadowed.add(id(place))
            warn_of_shadowing(frame, self)
        return name

    # --- tiles -------------------------------------------------------------------------------

    def tile(self, shape, dtype: DType, memory: str = "sbuf", name: str | None = None) -> Tensor:
        """A new uninitialised tile [partitions, free...]; `memory` is "sbuf" or "psum"."""
        buffer = buffers.psum if memory == "psum" else buffers.sbuf
        return self._tile(shape, dtype, buffer, name or self.assigned_name("tile"))

    def scope(self, place: tuple | None = None) -> Any:
        """The scope of a tile that is made now, or by an instruction at a place in the kernel."""
        number = self.open_scopes[-1]
        if self.language != "old":
            return number
        if place is None:
            frame = kernel_frame()
            place = None if frame is None else place_of(frame)
        return number if place is None else source_scopes.scope_at(number, place)

    def stored(self, dtype: DType) -> str:
        """The device's dtype for tiles of a dtype."""
        if self.widens and dtype in WIDENED:
            self.has_widened = True
            return "float32"
        return dtype.name

    def constant(self, shape: tuple, dtype: DType, value: float, name: str) -> Any:
        """The access of an SBUF tile of one value, made once for all operators that need it in the
        body of this loop and in loops within."""
        key = (shape, dtype, value, self.core, self.program_ids)
        for scope in reversed(self.open_scopes):
            if (scope, key) in self.constants:
                return self.constants[scope, key]
        access = self.tile(shape, dtype, name=name).access
        self.builder.memset(access, value)
        self.constants[self.open_scopes[-1], key] = access
        return access

    def _unrolled_sum(self, error: ValueError) -> None:
        """What the error of a first product in a loop means: whether it is the first depends on
        the loop."""
        if "with accumulate=None" in str(error):
            raise Unroll([self.loops[-1].key])

    # --- what the base class calls ------------------------------------------------------------

    def _repeated(self, loop: Loop, target: Tensor) -> None:
        raise output_dependencies(loop, target)

    def _point_at(self, error: BaseException, place: tuple) -> None:
        """The kernel's line of a place with a caret, as a note of the error."""
        line, _, _, code, step = place
        point_at_place(error, code, int(line.rpartition(":")[2]), step)

    def name_instruction(self, name: str, number: int) -> None:
        """Enters the name of an instruction, which is for Kernel.with_schedule."""
        if name:
            self.control.named.setdefault(name, []).append(number)

    # --- scopes ------------------------------------------------------------------------------

    def open_scope(self) -> None:
        """Tiles made from now on live until close_scope()."""
        self.settle()
        scope = self.next_scope
        self.next_scope += 1
        self.scopes.add(scope)
        self.open_scopes.append(scope)

    def close_scope(self) -> None:
        self.settle()
        self.scopes.discard(self.open_scopes.pop())

    def leave_scope(self) -> None:
        """close_scope() when the loop around it was left, by `break` or by an error of the kernel;
        what fails now is an error of the kernel only if there was none, see finish()."""
        try:
            self.settle()
        except BaseException as error:
            self._failed = self._failed or error
        self.close_scope()

    def open_loop(self, key, name: str, kind: str, trips: int) -> Loop:
        """A counted loop; its variable is symbolic. The body is not a scope yet: open_scope()."""
        self.settle()
        level = len(self.loops) + len(self.control.loops)
        if level >= MAXIMUM_LOOP_DEPTH:
            raise Unroll([key])
        affine = self._builder.open_loop(trips)
        self.claims.open_loop(level, line_at(*key) if kind == "affine" else "")
        loop = Loop(key, name, kind, trips, affine)
        self.uses += 1
        loop.opened_at = self.uses
        self.loops.append(loop)
        return loop

    def close_loop(self) -> None:
        self.settle()
        self.claims.close_loop(self.loops.pop().kind)
        self._builder.close_loop()

    def check_scope(self, storage: Storage) -> None:
        """err_local_variable_used_out_of_scope, for a tensor whose scope is not simply open."""
        scope = storage.scope
        if isinstance(scope, source_scopes.BlockScope) and scope.scope in self.scopes:
            # What is emitted late counts where the kernel called it.
            if scope.holds_line(self._line) if self._emitting else scope.holds(sys._getframe(1)):
                return
        raise source_scopes.error(storage)

    def finish(self):
        """The program. MemoryError when its tiles do not fit the chip and could be smaller: with
        blocks placed one by one, or with their own dtypes; else the compiler spills some."""
        if self._failed is not None:
            raise self._failed
        self.settle()
        self.forget_parts()
        spills = not self.has_widened and (self.splits_blocks or not self.has_blocks)
        return self._builder.finish(spills)


def in_parts(cut: list | None, emit: Any, *tiles: Any) -> None:
    """emit(*tiles) for all of them (cut None) or for each box that a mask leaves."""
    if cut is None:
        emit(*tiles)
        return
    for box in cut:
        emit(*[tile.narrow(box) if isinstance(tile, Tensor) else tile for tile in tiles])


def masked_result(
    shape: Any, dtype: Any, default: Any, mask: Any, emit: Any, *tiles: Any, memory: str = "sbuf"
) -> Tensor:
    """The tile of emit(dst, *tiles), of dtype `default` unless the caller gave one.

    `emit` is a function or an Instruction, whose operands may be other things than tiles as well.
    With a mask, dst and the tiles are narrowed to the part it leaves; the rest of a new tile is
    uninitialised.
    """
    wanted = default if dtype is None else dtype_of(dtype)
    cut = None if mask is None else boxes(mask, tuple(shape))
    if cut is not None:
        emit = InBoxes(cut, partial(in_parts, cut, emit))
    return current().result(shape, wanted, memory, emit, False, dtype is not None, tiles)


_core.connect_tracing(
    is_internal=is_internal,
    place_at=place_at,
    current=current,
    masked_result=masked_result,
    unroll=Unroll,
    float32=float32,
    sbuf=buffers.sbuf,
    psum=buffers.psum,
)
