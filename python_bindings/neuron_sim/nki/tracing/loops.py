"""Loops of the languages: counted ones traced once, and unrolled ones."""

import sys
from dis import opname
from operator import index as as_int
from typing import Any

from .errors import is_internal, kernel_frame
from .expression import variable
from .trace import current


def _range_of(arguments: tuple) -> range:
    return range(*[as_int(each) for each in arguments])


def loop_position() -> tuple:
    """What identifies a loop in the source, the same in every trace: code and instruction."""
    frame: Any = sys._getframe(1)
    while is_internal(frame.f_code):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def _is_left_by_jump() -> bool:
    """Whether a loop ends by break or return: its iterator is dropped by an instruction of its own.

    An exception drops it while the instruction that raised is the current one.
    """
    frame = kernel_frame(2)
    if frame is None:
        return True
    return opname[frame.f_code.co_code[frame.f_lasti]] in ("POP_TOP", "POP_ITER", "END_FOR")


def counted(arguments: tuple, kind: str, position: tuple):
    """Yields the symbolic variable of a counted loop once, or its values when it is unrolled."""
    trace = current()
    values = _range_of(arguments)
    if len(values) == 0:
        return
    if len(values) == 1 or position in trace.unrolled:
        yield from unrolled(values)
        return
    loop = trace.open_loop(position, f"i{len(trace.loops)}", kind, len(values))
    trace.open_scope()
    try:
        yield variable(loop, values.start, values.step)
    except GeneratorExit:  # the loop does not run to its end
        if _is_left_by_jump():
            trace.broken.append(position)
        return
    trace.close_scope()
    trace.close_loop()


def unrolled(values):
    """Yields numbers; tiles of an iteration live until its end."""
    trace = current()
    trace.allocation.unrolled_loops += 1
    for value in values:
        trace.open_scope()
        trace.allocation.begin_iteration()
        try:
            yield value
        except GeneratorExit:
            trace.allocation.unrolled_loops -= 1
            trace.leave_scope()
            return
        trace.close_scope()
    trace.allocation.unrolled_loops -= 1


def affine_range(*arguments, **_directives):
    """Iterations are independent (reductions into one accumulator are allowed)."""
    return counted(arguments, "affine", loop_position())


def sequential_range(*arguments, **_directives):
    """Iterations run in order."""
    return counted(arguments, "sequential", loop_position())


def static_range(*arguments, **_directives):
    """Unrolled when the kernel is traced."""
    return iter(_range_of(arguments))


def dynamic_range(start, stop=None, step=1):
    """A counted loop of the new language; start and stop are numbers, step is a positive int.

    TypeError for bounds in registers: the number of iterations would be known at run time only.
    """
    if stop is None:
        start, stop = 0, start
    assert isinstance(step, int) and step > 0, (
        f"dynamic_range: step {step!r} is not a positive int known when the kernel is compiled."
    )
    for name, bound in (("start", start), ("stop", stop)):
        if type(bound).__name__ == "VirtualRegister":
            raise TypeError(
                f"dynamic_range: {name} is a register; bounds that are known at run time only are "
                "not there yet."
            )
    return counted((start, stop, step), "dynamic", loop_position())


def fori_loop(lower, upper, body, step=1):
    """body(i) for i in a counted loop from lower to upper."""
    for i in dynamic_range(lower, upper, step):
        body(i)
