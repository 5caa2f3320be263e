"""Tensor: an access pattern of a tile or an HBM tensor, as both languages see it."""

import sys
from typing import Any

from . import access, indexing, methods, patterns, views
from .dtypes import WIDENED, DType, dtype_of
from .dynamic import not_native
from .errors import Retrace


class Storage:
    """What was allocated: a tile (on chip) or an HBM tensor.

    `whole` is its View; `scope` the number of the scope it lives in; `mutable` whether it may be
    written; `ordinal` the position among the HBM tensors of the kernel (None for others).
    """

    mutable = True
    ordinal: Any = None
    written = False
    argument: Any = None
    line = ""
    uses = 0  # access patterns taken for instructions
    last_use = 0  # the trace's number of it
    _typed: Any = None

    def __init__(self, trace, name, buffer, shape, dtype, whole, scope, axis=0):
        self.trace = trace
        self.name = name
        self.buffer = buffer
        self.memory = buffer.memory
        self.shape = shape
        self.dtype = dtype
        self.whole = whole
        self.scope = scope
        self.axis = axis
        self.made_at = trace.uses

    def whole_as(self, dtype: DType):
        """The whole as elements of another dtype."""
        if self.trace.widens and self.dtype in WIDENED and self.memory != "hbm":
            raise Retrace("exact")
        if self._typed is None:
            self._typed = {}
        view = self._typed.get(dtype)
        if view is None:
            view = self._typed[dtype] = self.whole.reinterpret(dtype.name)
        return view


class Tensor:
    """Dimensions `shape` with `steps` (elements of `dtype`) from element `start` of a storage.

    On chip dimension `axis` counts partitions from `partition` on (0 in all but tensors with block
    dimensions); in HBM `axis` is None. A result that no instruction wrote yet has no storage: its
    instruction is emitted when the tensor is used, or straight into what it is assigned to.
    """

    # Rarely set; `checks`: bounds of indices that a mask may still narrow.
    checks: tuple | None = None
    index: Any = None
    index_rows = 0
    index_stride = 0
    register: Any = None
    dynamic: Any = None  # a dynamic.DynamicSlice
    pending: Any = None
    _access: Any = None
    __array_ufunc__ = None  # NumPy scalars leave arithmetic with a Tensor to it
    __hash__ = object.__hash__

    def __init__(self, storage, shape, dtype, steps, axis, partition=0, start=0):
        self.storage = storage
        self.shape = shape
        self.dtype = dtype
        self.steps = steps
        self.axis = axis
        self.partition = partition
        self.start = start

    def derived(self, shape, steps, axis, partition, start) -> "Tensor":
        """Another pattern on the same storage; what was indexed before is checked now."""
        if self.checks:
            access.run_checks(self)
        return self.same_storage(shape, steps, axis, partition, start)

    def same_storage(self, shape, steps, axis, partition, start) -> "Tensor":
        """Another pattern on the same storage, whose indices are not checked yet."""
        result = Tensor(self.storage, shape, self.dtype, steps, axis, partition, start)
        result.register = self.register
        return result

    def settle(self) -> "Tensor":
        """Emits the instruction of a result that was not assigned anywhere."""
        if self.storage is None:
            self.pending.trace.settle()
        return self

    @property
    def access(self):
        """The View of exactly this access pattern: what an instruction of the builder takes."""
        view = self._access
        if view is None:
            if self.storage is None:
                self.settle()
            view = self._made_access()
        storage = self.storage
        trace = storage.trace
        if storage.scope not in trace.scopes:
            raise trace.out_of_scope(storage)
        if trace.loops:  # who uses it only matters to the iterations of a loop
            storage.uses += 1
            trace.uses += 1
            storage.last_use = trace.uses
        return view

    def _made_access(self):
        storage, start, shape = self.storage, self.start, self.shape
        if (
            self.axis == 0
            and not self.checks
            and type(start) is int
            and self.dtype is storage.dtype
            and self.register is None
            and self.dynamic is None
            and type(self.partition) is int
            and len(shape) <= access.MAXIMUM_RANK
        ):
            steps = self.steps
            if len(shape) == 2:
                pairs: tuple = ((steps[0], shape[0]), (steps[1], shape[1]))
            else:
                pairs = tuple(zip(steps, shape, strict=False))
            view = self._access = storage.whole.pattern(pairs, start, self.partition)
            return view
        if self.dynamic is not None:
            raise not_native(self)
        view = access.access_of(self)
        if self.register is None:
            self._access = view
        return view

    @property
    def name(self) -> str:
        return self.pending.name if self.storage is None else self.storage.name

    @property
    def memory(self) -> str:
        """ "sbuf", "psum" or "hbm"."""
        return self.buffer.memory

    @property
    def buffer(self):
        return self.pending.buffer if self.storage is None else self.storage.buffer

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for each in self.shape:
            count *= each
        return count

    @property
    def strides(self) -> tuple:
        """In elements of the storage in row-major order, of which on chip a row is a partition."""
        return patterns.strides(self.settle())

    @property
    def offset(self):
        """The first element, in the same order."""
        return patterns.offset(self.settle())

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def describe(self) -> str:
        """`a_tile[128, 512]`, the form the vendor's messages use."""
        return f"{self.name}{list(self.shape)}"

    def __repr__(self) -> str:
        return f"{self.dtype} {self.describe()}"

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.axis is None and self.storage.trace.is_simulation:
            return True  # as the vendor's simulation has it for `x if x else None`
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous"
            if self.size > 1
            else "Dynamic control-flow depending on tensor value is currently not supported by NKI."
        )

    def __iter__(self):
        raise TypeError(f"tensor `{self.name}` is not iterable; index it in a loop.")

    def __getitem__(self, index) -> "Tensor":
        if self.storage is None:
            self.settle()
        if index is Ellipsis:
            return self
        items = index if isinstance(index, tuple) else (index,)
        shape, steps = self.shape, self.steps
        if self.axis == 0 and not self.checks and self.register is None:
            # The common case, plain slices of a tile, without a call.
            start, partition = self.start, self.partition
            sizes: list = []
            for item, size, step in zip(items, shape, steps, strict=False):
                if type(item) is not slice or item.step is not None:
                    break
                first, last = item.start, item.stop
                if first is None:
                    first = 0
                if last is None:
                    last = size
                if type(first) is not int or type(last) is not int or not 0 <= first < last <= size:
                    break
                if first:
                    if sizes:
                        start += first * step
                    else:
                        partition += first * step
                sizes.append(last - first)
            else:
                if len(items) <= len(shape):
                    kept = (*sizes, *shape[len(sizes) :])
                    return Tensor(self.storage, kept, self.dtype, steps, 0, partition, start)
        return indexing.indexed(self, items)

    def __setitem__(self, index, value) -> None:
        unshared = sys.getrefcount(value) <= UNSHARED
        target = self.settle() if index is Ellipsis else self[index]
        target.storage.trace.assign(target, value, unshared)

    def narrow(self, box: tuple) -> "Tensor":
        """The part of a tensor that a mask leaves; box: (start, size) per dimension."""
        return indexing.narrowed(self, box)

    def reinterpreted(self, dtype) -> "Tensor":
        """The same bytes as another dtype; the last dimension scales with the element size."""
        return methods.reinterpreted(self, dtype_of(dtype))

    # Methods of both languages, and those of the new one.
    view = methods.view
    reshape = methods.reshape
    astype = methods.astype
    broadcast_to = methods.broadcast_to
    expand_dims = methods.expand_dims
    assert_shape = methods.assert_shape
    reinterpret_cast = methods.view
    slice = views.slice_
    select = views.select
    vector_select = views.vector_select
    permute = views.permute
    broadcast = views.broadcast
    expand_dim = views.expand_dim
    squeeze_dim = views.squeeze_dim
    reshape_dim = views.reshape_dim
    flatten_dims = views.flatten_dims
    rearrange = views.rearrange
    ap = patterns.ap
    get_pattern = patterns.get_pattern
    is_contiguous = patterns.is_contiguous
    is_indirect = patterns.is_indirect


class _Probe:
    """How many references an argument has that nobody else holds, in this interpreter."""

    def __setitem__(self, index, value):
        self.count = sys.getrefcount(value)

    def __iadd__(self, value):
        self.count = sys.getrefcount(value)
        return self


def _references_of_unshared() -> tuple[int, int]:
    """By item assignment, and by `+=`."""
    probe = _Probe()
    held = []

    def made():
        tensor = object()
        held.append(tensor)  # as the trace holds a pending result
        return tensor

    probe[...] = made()
    assigned = probe.count
    probe += made()
    return assigned, probe.count


UNSHARED, UNSHARED_IN_PLACE = _references_of_unshared()
