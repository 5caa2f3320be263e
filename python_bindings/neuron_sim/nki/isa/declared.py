"""Functions of instructions whose parameters are their declared fields: tiles, numbers, `name`.

An instruction without its own function in this package gets one from the device's declarations
(device/isa): the vendor's signature where the fields follow it.
"""

from collections.abc import Callable
from typing import Any

from neuron_sim import _core

from .instruction import builder, emitted


def _functions() -> dict[str, Callable[..., Any]]:
    operands = {
        entry["name"]: {operand["name"] for operand in entry["operands"]}
        for entry in _core.instruction_table()
    }
    made: dict[str, Any] = {"builder": builder, "emitted": emitted}
    for instruction, parameters in _core.instruction_parameters().items():
        # Named after this file: errors are shown at the kernel's line.
        source = _source(instruction, parameters, operands[instruction])
        exec(compile(source, __file__, "exec"), made)
    return {name: made[name] for name in operands if name in made}


def _source(instruction: str, parameters: tuple, operands: set[str]) -> str:
    """The function as Python: tiles give their access patterns, the device chooses the engine."""
    passed, declared = [], []
    for name, is_required, default in parameters:
        if name == "engine":
            continue
        declared.append(name if is_required else f"{name}={default!r}")
        if name not in operands:
            passed.append(f"{name}={name}")
        elif is_required:
            passed.append(f"{name}={name}.access")
        else:
            passed.append(f"{name}=getattr({name}, 'access', {name})")
    return (
        f"def {instruction}({', '.join([*declared, 'name=None'])}):\n"
        f"    '''Emits {instruction}: docs/instructions.md says what it computes.'''\n"
        f"    builder().{instruction}({', '.join(passed)})\n"
        f"    return emitted(name)\n"
    )


FUNCTIONS = _functions()
"""By name, of all instructions with declared fields."""
