"""Trace: one kernel while it is turned into a program."""

import math
import sys
from typing import Any

from neuron_sim import _core

from . import buffers
from .allocation import Allocation
from .assignments import check_annotation, place_of, warn_of_shadowing
from .dependences import output_dependencies, shared_loop
from .dtypes import WIDENED, DType
from .errors import Unroll, innermost, is_internal, known_internal, out_of_kernel, point_at_place
from .expression import Loop
from .mask import boxes
from .methods import dense_strides
from .pending import Pending
from .tensor import Storage, Tensor

PARTITIONS = 128
MAXIMUM_LOOP_DEPTH = 8  # of counted loops in a program

_stack: list = []
running = _stack  # the traces that are running, the innermost last
operators: Any = None  # the module, which imports this one; set by overloads


def current() -> "Trace":
    """The trace of the kernel that is running; err_nki_api_outside_of_nki_kernel otherwise."""
    if not _stack:
        raise out_of_kernel(sys._getframe(1).f_code.co_name)
    return _stack[-1]


def tracing() -> bool:
    """Whether a kernel is being traced."""
    return bool(_stack)


class Trace:
    """One run through a kernel.

    `language`: "old" or "new". `unrolled`: keys of the loops to unroll. `scopes`: numbers of the
    scopes (bodies of loops) that are open. `program_ids`, `grid`: of the instance being traced.
    `widens`: tiles of low precision are stored as fp32, as the vendor's simulation does.
    """

    def __init__(self, name, architecture, language, unrolled=frozenset(), widens=False):
        self.name = name
        self.widens = widens
        self.architecture = architecture
        self.language = language
        self.unrolled = unrolled
        self.scopes = {0}
        self.open_scopes = [0]
        self.next_scope = 1
        self.loops: list[Loop] = []
        self.broken: list = []  # keys of symbolic loops that were left early
        self.grid: tuple = ()
        self.program_ids: tuple = ()
        self.core = 0
        self.is_simulation = False  # of the old language, more tolerant than its compiler
        self.hbm: list[Storage] = []  # HBM tensors the kernel created, by ordinal
        self.next_hbm = 0
        self.output_ordinals: frozenset = frozenset()  # private ones that the kernel returns
        self.inputs: list[Storage] = []
        self.arguments: list[Storage] = []
        self.allocation = Allocation()
        self._builder = _core.Builder(name, architecture, placement="automatic")
        self._pending: Pending | None = None
        self._failed: BaseException | None = None
        self.splits_blocks = False  # every block of a tensor is placed alone
        self.has_blocks = False
        self.has_prints = False
        self.printed: list | None = None  # of nl.device_print, when they are part of the program
        self._registers: dict = {}
        self.uses = 0  # of tensors by instructions
        self._emitting = False
        self._unshadowed: set = set()
        self._line = ""

    @property
    def builder(self):
        """The builder, after what is pending was emitted; its source line is the kernel's."""
        if self._pending is not None:
            self.settle()
        if self._emitting:  # an instruction of another line
            return self._builder
        frame: Any = sys._getframe(1)
        code = frame.f_code
        while known_internal(code.co_filename, True) and is_internal(code):
            frame = frame.f_back
            if frame is None:
                return self._builder
            code = frame.f_code
        line = place_of(frame)[0]
        if line != self._line:
            self._line = line
            self._builder.source_line(line)
        return self._builder

    def assigned_name(self, otherwise: str, shape: tuple | None = None) -> str:
        """The name that the kernel's current line assigns to, for messages.

        `shape`: of a tensor that the kernel makes here. ValueError when its annotation has another.
        """
        frame = innermost(sys._getframe(1))
        if frame is None:
            return otherwise
        return self._name_at(frame, place_of(frame), shape) or otherwise

    def _name_at(self, frame, place: tuple, shape: tuple | None) -> str:
        _, name, annotation, code, step = place
        if shape is not None and name:
            if annotation:
                check_annotation(frame, name, annotation, shape)
            if self.loops and self.language == "old":
                if (id(code), step) not in self._unshadowed:
                    self._unshadowed.add((id(code), step))
                    warn_of_shadowing(frame, self)
        return name

    # --- tiles -------------------------------------------------------------------------------

    def tile(self, shape, dtype: DType, memory: str = "sbuf", name: str | None = None) -> Tensor:
        """A new uninitialised tile [partitions, free...]; `memory` is "sbuf" or "psum"."""
        if self._pending is not None:
            self.settle()
        buffer = buffers.psum if memory == "psum" else buffers.sbuf
        return self._tile(tuple(shape), dtype, buffer, name or self.assigned_name("tile"))

    def _tile(self, shape: tuple, dtype: DType, buffer, name: str) -> Tensor:
        return self._in_new_tile(Tensor(None, shape, dtype, None, 0), buffer, name)

    def _in_new_tile(self, tensor: Tensor, buffer: Any, name: str) -> Tensor:
        """Gives a tensor without a storage a tile of its own."""
        shape = tensor.shape
        make = self._builder.psum if buffer is buffers.psum else self._builder.sbuf
        if len(shape) == 2:
            whole = make(name, shape, self.stored(tensor.dtype))
            tensor.steps = (1, 1)
            tensor._access = None if self.widens else whole
        else:
            free = math.prod(shape[1:])
            whole = make(name, (shape[0], free), self.stored(tensor.dtype))
            tensor.steps = (1, *dense_strides(shape[1:]))
        scope = self.open_scopes[-1]
        tensor.storage = Storage(self, name, buffer, shape, tensor.dtype, whole, scope)
        return tensor

    def register_of(self, tensor: Tensor) -> int:
        """The register that the element of a tile is loaded into, one per tile."""
        number = self._registers.get(tensor.storage)
        if number is None:
            number = self._registers[tensor.storage] = self._builder.allocate_register()
        return number

    def stored(self, dtype: DType) -> str:
        """The device's dtype for tiles of a dtype."""
        return "float32" if self.widens and dtype in WIDENED else dtype.name

    # --- results that are assigned -----------------------------------------------------------

    def result(
        self, shape, dtype: DType, memory: str, emit, accumulates=False, explicit=False, operands=()
    ) -> Tensor:
        """A tile that `emit(tensor, *operands)` writes: now if it is used, later if it is assigned.

        `t[...] = result` makes emit write into t (unless `explicit`, the user's dtype=, is not
        that of t), `t += result` too when it `accumulates`: emit(t, accumulate=True).
        """
        if self._pending is not None:
            self.settle()
        pending = Pending()
        pending.trace = self
        pending.emit = emit
        pending.operands = operands
        pending.buffer = buffers.psum if memory == "psum" else buffers.sbuf
        pending.accumulates = accumulates
        pending.explicit = explicit
        frame = innermost(sys._getframe(1))
        pending.place, pending.name = None, "result"
        if frame is not None:
            place = pending.place = place_of(frame)
            has_checks = place[2] or self.loops
            name = self._name_at(frame, place, shape) if has_checks else place[1]
            pending.name = name or "result"
        tensor = Tensor(None, tuple(shape), dtype, None, 0)
        pending.tensor = tensor
        tensor.pending = pending
        self._pending = pending
        return tensor

    def settle(self) -> None:
        """Emits what is pending into a tile of its own."""
        pending = self._pending
        if pending is None:
            return
        self._pending = None
        tensor = pending.tensor
        self.allocation.allocate_automatically(pending.name)
        self._in_new_tile(tensor, pending.buffer, pending.name)
        tensor.pending = None
        self._emit(pending, tensor)

    def _emit(self, pending: Pending, target: Tensor, **options) -> None:
        """Emits what was pending; lines and errors are those of where the kernel called it."""
        if pending.place is None:
            pending.emit(target, *pending.operands, **options)
            return
        line = pending.place[0]
        if line != self._line:
            self._line = line
            self._builder.source_line(line)
        self._emitting = True
        try:
            pending.emit(target, *pending.operands, **options)
        except Exception as error:
            _, _, _, code, step = pending.place
            point_at_place(error, code, int(line.rpartition(":")[2]), step)
            raise
        finally:
            self._emitting = False

    def settled_into(self, target: Tensor, value: Tensor, unshared: bool) -> bool:
        """Emits a pending value straight into `target`; False when that is not the same."""
        pending = self._pending
        if pending is None or pending.tensor is not value or not unshared:
            return False
        if target.axis is None or target.shape != value.shape:
            return False
        if pending.explicit and target.dtype is not value.dtype:
            return False
        if pending.buffer is buffers.psum and target.memory != "psum":
            return False
        self._pending = None
        target.storage.written = True
        if pending.accumulates:
            self.allocation.check_product(target.storage, False)
            self._emit(pending, target, accumulate=False)
        else:
            self._emit(pending, target)
        return True

    def assign(self, target: Tensor, value, unshared: bool = False) -> None:
        """target[...] = value."""
        loop = shared_loop(self, target) if self.loops and self.language == "old" else None
        uses = target.storage.uses
        if isinstance(value, Tensor) and value.storage is None:
            if not self.settled_into(target, value, unshared):
                operators.assign(target, value.settle())
        else:
            operators.assign(target, value)
        if loop is not None and target.storage.uses == uses + 1:  # it is not an operand as well
            raise output_dependencies(loop, target)

    def accumulate(self, target: Tensor, value: Tensor, unshared: bool) -> bool:
        """target += value for a pending matrix product; False for anything else."""
        pending = self._pending
        if pending is None or pending.tensor is not value or not pending.accumulates:
            return False
        if not unshared or target.memory != "psum" or target.shape != value.shape:
            return False
        self._pending = None
        self.allocation.check_product(target.storage, True)
        if target.storage.written:
            self._emit(pending, target, accumulate=True)
            return True
        # The first product into uninitialised memory overwrites it.
        try:
            self._emit(pending, target, accumulate=None)
        except ValueError as error:
            if self.loops and "with accumulate=None" in str(error):
                raise Unroll([self.loops[-1].key]) from None
            raise
        return True

    # --- scopes ------------------------------------------------------------------------------

    def open_scope(self) -> None:
        """Tiles made from now on live until close_scope()."""
        if self._pending is not None:
            self.settle()
        scope = self.next_scope
        self.next_scope += 1
        self.scopes.add(scope)
        self.open_scopes.append(scope)

    def close_scope(self) -> None:
        if self._pending is not None:
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
        """A counted loop; its variable is symbolic. The body is no scope yet: open_scope()."""
        if self._pending is not None:
            self.settle()
        if len(self.loops) == MAXIMUM_LOOP_DEPTH:
            raise Unroll([key])
        affine = self._builder.open_loop(trips)
        loop = Loop(key, name, kind, trips, affine, len(self.loops))
        self.uses += 1
        loop.opened_at = self.uses
        self.loops.append(loop)
        return loop

    def close_loop(self) -> None:
        if self._pending is not None:
            self.settle()
        self.loops.pop()
        self._builder.close_loop()

    def out_of_scope(self, storage: Storage) -> ValueError:
        """err_local_variable_used_out_of_scope."""
        return ValueError(
            f"Local variable '{storage.name}' is referenced outside of its parent scope: tensors "
            "defined in a loop live in its body only."
        )

    def finish(self):
        """The program."""
        if self._failed is not None:
            raise self._failed
        self.settle()
        return self._builder.finish()


__all__ = ["PARTITIONS", "Trace", "boxes", "current", "tracing"]
