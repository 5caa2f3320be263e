"""Arguments of check(): what is no kernel, no input or no option of a check, in one sentence."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from neuron_sim.settings import LEGALITY_LEVELS, check_member

from ..launch.arrays import is_array, is_declared
from ..tracing import dtypes
from ..typing.annotations import tensor


def check_arguments(
    kernel: Any, inputs: Any, reference: Any, legality: Any, seeds: Any, tolerance: Any
) -> None:
    """TypeError for a type, ValueError for a value that check() cannot use."""
    if not (hasattr(kernel, "call") and type(kernel).__module__.startswith("neuron_sim.")):
        name = getattr(kernel, "__qualname__", type(kernel).__name__)
        raise TypeError(f"check takes an NKI kernel, not '{name}': it judges no other work.")
    if not isinstance(inputs, Mapping):
        name = type(inputs).__name__
        raise TypeError(f"check takes a dict of inputs by parameter, not '{name}'.")
    for name, value in inputs.items():
        if not isinstance(name, str):
            raise TypeError(f"check takes inputs by the name of a parameter, not by {name!r:.40}.")
        _check_array(name, value)
    if reference is not None and not callable(reference):
        raise TypeError(f"the reference is a function, not '{type(reference).__name__}'.")
    check_member("legality", legality, LEGALITY_LEVELS)
    _check_seeds(seeds)
    if tolerance is not None and not _is_number(tolerance, Real):
        raise ValueError(f"the tolerance is {tolerance!r:.40}, but must be a number of at least 0.")


def _check_array(name: str, value: Any) -> None:
    if isinstance(value, type) and issubclass(value, tensor) and value.dtype is None:
        raise TypeError(f"input '{name}' is declared without a dtype: nki.typing.tensor[[128], T].")
    if not is_array(value):
        return  # a number, a name, a tuple: what the kernel makes of it is judged
    if not all(_is_number(size, Integral) for size in value.shape):
        raise ValueError(
            f"input '{name}' has shape {list(value.shape)}, but sizes are whole numbers of at "
            "least 0."
        )
    try:
        (dtypes.dtype_of if is_declared(value) else dtypes.from_array)(value.dtype)
    except TypeError as error:
        raise TypeError(f"input '{name}': {error}") from None


def _check_seeds(seeds: Any) -> None:
    is_list = isinstance(seeds, Sequence) and not isinstance(seeds, str | bytes)
    if not is_list or not seeds or not all(_is_number(seed, Integral) for seed in seeds):
        raise ValueError(
            f"the seeds are {seeds!r:.40}, but must be a list of one or more whole numbers of at "
            "least 0."
        )


def _is_number(value: Any, kind: Any) -> bool:
    """Whether it is a number of that kind and at least 0; bool and NaN do not count."""
    return isinstance(value, kind) and not isinstance(value, bool) and value >= 0
