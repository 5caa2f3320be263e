"""The vendor compiler's flags of a kernel, as its decorator or the environment gives them."""

import shlex

from neuron_sim import _core

VARIABLE = "NEURON_CC_FLAGS"
"""Flags of kernels that run as operators of a framework (docs of torch-neuronx)."""


def flags_of(options: dict) -> tuple[str, ...]:
    """The flags in `additional_compile_opt` of a decorator; those of the environment without it.

    TypeError for flags that are not a string, ValueError for quotes that do not end.
    """
    text = options.get("additional_compile_opt")
    if text is None:
        return _split(VARIABLE, _core.setting(VARIABLE))
    if not isinstance(text, str):
        raise TypeError(f"additional_compile_opt is {text!r} and must be a string of flags.")
    return _split("additional_compile_opt", text)


def logical_cores_of(flags: tuple[str, ...]) -> int:
    """Cores of a logical core: `--logical-nc-config` or `--lnc`, else 1; ValueError for no int."""
    cores = "1"
    for flag, following in zip(flags, (*flags, "")[1:], strict=True):
        name, equals, value = flag.partition("=")
        if name in ("--logical-nc-config", "--lnc"):
            cores = value if equals else following
    if not cores.isdecimal():
        raise ValueError(f"the compiler's flags {flags} have '{cores}' cores of a logical core.")
    return int(cores)


def _split(name: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{name} is {text!r}: {error}.") from None
