"""Tensor: an access pattern of a tile or an HBM tensor, as both languages see it."""

import sys
from collections.abc import Callable
from typing import Any

from neuron_sim import _core

from . import eager, errors, indexing, methods, patterns, views
from .control_flow import while_loops
from .dtypes import WIDENED, DType, bool_
from .errors import Retrace


@_core.register_class
class Storage(_core.TensorStorage):
    """An allocation: a tile (on chip) or an HBM tensor.

    Storage(trace, name, buffer, shape, dtype, whole, scope, axis=0): `whole` is its View; `scope`
    the number of the scope it lives in; `mutable` whether it may be written; `ordinal` the position
    among the HBM tensors of the kernel (None for others). `uses`: access patterns taken for
    instructions, `last_use`: the trace's number of it.
    """

    __slots__ = ()

    def whole_as(self, dtype: DType):
        """The whole as elements of another dtype."""
        if self.trace.widens and self.dtype in WIDENED and self.argument is None:
            raise Retrace("exact")
        view = self.views.get(dtype)
        if view is None:
            view = self.views[dtype] = self.whole.reinterpret(dtype.name)
        return view


@_core.register_class
class Tensor(_core.TensorPattern):
    """Dimensions `shape` with `steps` (elements of `dtype`) from element `start` of a storage.

    Tensor(storage, shape, dtype, axis, steps=None) begins where the storage does, and is dense
    without steps. On chip dimension `axis` counts partitions from `partition` on (0 in all but
    tensors with block dimensions); in HBM `axis` is None. A result that no instruction has
    written has no storage: its instruction is emitted when the tensor is used, or straight into
    what it is assigned to.

    Rarely set: `index` with `index_rows` and `index_stride`; `register`; `dynamic`, a
    dynamic.DynamicSlice. The base class has what every
    instruction needs: `settle()`, `access` (the View that the builder takes), `[]` of what is known
    when the kernel is traced, `[] =` and `+=` of results that are not written yet.
    """

    astype: Callable[..., "Tensor"]  # attached, with the operators, by nki.lowering
    broadcast_to: Callable[..., "Tensor"]
    _assign: Callable[["Tensor", Any], None]
    __slots__ = ()
    __array_ufunc__ = None  # NumPy scalars leave arithmetic with a Tensor to it
    __hash__ = object.__hash__

    def _at_register(self, view):
        """The view with an address that is known when the kernel runs: from a register, or from a
        tile of one element that is loaded into one right before."""
        source, scale = self.register
        number = getattr(source, "index", None)
        if hasattr(source, "storage"):
            trace = self.storage.trace
            number = trace.control.scratch_register()
            trace.builder.register_load(number, source.access)
        return view.at_register(number, scale)

    def _refusal(self, reason: str) -> Exception:
        return errors.OF_TENSORS[reason](self)

    @property
    def name(self) -> str:
        return self.pending.name if self.storage is None else self.storage.name

    @property
    def size(self) -> int:
        """Number of elements."""
        return methods.product(self.shape)

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
        return f"{self.dtype} {self.describe()}{eager.shown(self)}"

    def numpy(self):
        """A copy of its values as a NumPy array, where kernels run eagerly; else ValueError."""
        return eager.values(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        """True, so that `if bias:` asks whether an optional tensor is there.

        ValueError in the new language for comparisons and single elements on chip, whose values are
        not known when the kernel is traced; in the old one for all but HBM tensors under the
        simulation.
        """
        trace = self.settle().storage.trace
        if (self.size == 1 or not trace.is_old) and while_loops.asks(sys._getframe(1)):
            raise ValueError(while_loops.ON_TENSOR[trace.language])
        if trace.is_old:
            is_there = self.axis is None and trace.is_simulation
        else:
            is_there = self.dtype is not bool_ and (self.axis is None or self.size > 1)
        if is_there:
            return True
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous"
            if self.size > 1
            else "Dynamic control-flow depending on tensor value is currently not supported by NKI."
        )

    def __iter__(self):
        raise TypeError(f"tensor `{self.name}` is not iterable; index it in a loop.")

    def _indexed(self, index) -> "Tensor":
        """The indices that the base class leaves to indexing.py."""
        return indexing.indexed(self, index if isinstance(index, tuple) else (index,))

    # Methods of both languages, and those of the new one.
    view = methods.view
    reinterpreted = methods.view
    reshape = methods.reshape
    expand_dims = methods.expand_dims
    assert_shape = methods.assert_shape
    reinterpret_cast = methods.view
    slice = views.slice_
    select = views.select
    vector_select = views.vector_select
    indirect = views.indirect
    permute = views.permute
    broadcast = views.broadcast
    expand_dim = views.expand_dim
    squeeze_dim = views.squeeze_dim
    reshape_dim = views.reshape_dim
    flatten_dims = views.flatten_dims
    rearrange = views.rearrange
    ap = patterns.ap
    get_pattern = patterns.get_pattern
    is_indirect = patterns.is_indirect
