"""Annotations of kernels: `nt.tensor[128, 512]`, `nt.mutable_tensor`, `nt.scalar`."""

from typing import Any


class _Annotation(type):
    """Subscripts give the shape, `tensor[128, 512]`, or also the dtype: `tensor[[2, 3], dtype]`."""

    def __getitem__(cls, items):
        sizes: Any = items if isinstance(items, tuple) else (items,)
        dtype = None
        if isinstance(sizes[0], (tuple, list)):
            sizes, dtype = sizes[0], (sizes[1] if len(sizes) > 1 else None)
        return type(cls)(cls.__name__, (cls,), {"shape": tuple(sizes), "dtype": dtype})


class tensor(metaclass=_Annotation):
    """A read-only tensor of the kernel; with shape and dtype it stands for an array of zeros."""

    shape: tuple = ()
    dtype = None


class mutable_tensor(tensor):
    """A tensor argument that the kernel may write; it must return it."""


class scalar:
    """A number."""


mutable = mutable_tensor


def is_mutable(annotation) -> bool:
    """Whether a parameter's annotation allows writing; names in quotes too."""
    if isinstance(annotation, str):
        return "mutable" in annotation
    return isinstance(annotation, type) and issubclass(annotation, mutable_tensor)
