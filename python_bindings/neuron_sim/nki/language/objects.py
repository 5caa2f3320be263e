"""Classes whose objects kernels may use."""

import dataclasses
from typing import Any


class NKIObject:
    """Base of classes that kernels use: fields become attributes.

    A subclass without its own __init__ takes its annotated fields by position or by name, and other
    attributes that its body assigns by name. `@dataclass` changes none of that: the vendor's
    compiler reads the class and runs no generated __init__. A field that is neither given nor has a
    default has no value until the kernel assigns one; aws-neuron/nki-library derives fields so
    (`DimensionSizes` of core/moe/moe_cte/bwmm_shard_on_I.py).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _set_fields(self, args, kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """An __init__ in the class itself, which @dataclass does not replace."""
        super().__init_subclass__(**kwargs)
        if cls.__init__ is NKIObject.__init__:
            cls.__init__ = NKIObject.__init__  # type: ignore[method-assign]


def _set_fields(self: NKIObject, args: tuple, kwargs: dict[str, Any]) -> None:
    """TypeError for too many values, for a field given twice and for one that the class lacks."""
    of_class = type(self)
    declared = getattr(of_class, "__dataclass_fields__", {})
    fields = _annotated(of_class)
    positional = [name for name in fields if not getattr(declared.get(name), "kw_only", False)]
    if len(args) > len(positional):
        raise TypeError(
            f"{of_class.__name__}() takes {len(positional)} fields, {len(args)} were given."
        )
    values = dict(zip(positional, args, strict=False))
    for name, value in kwargs.items():
        if name in values or (name not in fields and not _is_attribute(of_class, name)):
            raise TypeError(f"{of_class.__name__}() has no further field '{name}'.")
        values[name] = value
    for name in fields:
        factory = getattr(declared.get(name), "default_factory", dataclasses.MISSING)
        if name not in values and factory is not dataclasses.MISSING:
            values[name] = factory()
    for name, value in values.items():
        object.__setattr__(self, name, value)  # also of a frozen dataclass
    finish = getattr(self, "__post_init__", None)
    if finish is not None:
        finish()


def _annotated(of_class: type) -> list[str]:
    """Names of the annotated fields, those of base classes first."""
    names: dict[str, None] = {}
    for each in reversed(of_class.__mro__):
        names.update(dict.fromkeys(each.__dict__.get("__annotations__", {})))
    return list(names)


def _is_attribute(of_class: type, name: str) -> bool:
    """Whether the body of a class assigns a value, not a method, to a name."""
    for each in of_class.__mro__[: of_class.__mro__.index(NKIObject)]:
        if name in each.__dict__:
            value = each.__dict__[name]
            return not (callable(value) or hasattr(value, "__get__"))
    return False
