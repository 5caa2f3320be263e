"""Annotations of kernels: `nt.tensor[128, 512]`, `nt.mutable_tensor`, `nt.scalar`."""


class _Annotation(type):
    """Subscripts give the shape: `tensor[128, 512]`."""

    def __getitem__(cls, shape):
        sizes = shape if isinstance(shape, tuple) else (shape,)
        return type(cls)(cls.__name__, (cls,), {"annotated_shape": sizes})


class tensor(metaclass=_Annotation):
    """A tensor that the kernel only reads."""

    annotated_shape: tuple = ()


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
