"""Loops of the languages: counted ones traced once, and unrolled ones."""

from operator import index as as_int
from typing import Any

from ...syntax.loops import is_left_by_jump, line_at
from ...syntax.places import kernel_frame
from ..active import current
from ..errors import Unroll
from ..expression import variable
from . import carried_values
from .registers import VirtualRegister


def _range_of(arguments: tuple) -> range:
    return range(*[as_int(each) for each in arguments])


def loop_position() -> tuple:
    """The identity of a loop in the source, the same in every trace: code and instruction."""
    frame: Any = kernel_frame()
    return frame.f_code, frame.f_lasti


def counted(arguments: tuple, kind: str, position: tuple):
    """Yields the symbolic variable of a counted loop once, or its values when it is unrolled."""
    trace = current()
    values = _range_of(arguments)
    if len(values) == 0:
        return
    if len(values) == 1 or position in trace.unrolled or trace.eager is not None:
        claim = None
        # Programs side by side emit in turns, so that instructions of an iteration lie apart.
        claims = kind == "affine" and trace.is_old and trace.programs is None
        if claims and len(values) > 1:
            trace.settle()  # what comes before the first iteration
            claim = trace.claims.iterations("loop", line_at(*position))
        yield from unrolled(map(trace.counts_as, values), claim)
        return
    frame = kernel_frame()
    handed_on = carried_values.HandedOn(frame)
    loop = trace.open_loop(position, f"i{len(trace.loops)}", kind, len(values))
    trace.open_scope()
    try:
        yield variable(loop, values.start, values.step)
    except GeneratorExit:  # the loop does not run to its end
        if is_left_by_jump(kernel_frame()):
            trace.broken.append(position)
        return
    name = handed_on.changed()
    if frame is not None and name and not trace.allocation.directly:  # else it counts addresses
        carried_values.warn(frame, name)
        raise Unroll([position])
    trace.close_scope()
    trace.close_loop()


def unrolled(values, claim=None):
    """Yields numbers; tiles of an iteration live until its end. `claim`: claims.Iterations of a
    loop whose iterations need no order."""
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
        if claim is not None:
            claim.next()
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
    """A loop on chip over range(start, stop, step) whose bounds may be registers.

    The variable of a loop with a register as a bound is a register that the kernel cannot write;
    that of a loop with known bounds is an index expression. AssertionError for a step that is not
    a positive int, ValueError inside a no_reorder block.
    """
    return _dynamic(start, stop, step, "dynamic_range", True)


def _dynamic(start, stop, step, what: str, is_frozen: bool):
    if stop is None:
        start, stop = 0, start
    assert isinstance(step, int) and not isinstance(step, bool) and step > 0, (
        f"{what}: step {step!r} is not a positive int known when the kernel is compiled."
    )
    position = loop_position()
    current().control.check_order(what)
    if isinstance(start, VirtualRegister) or isinstance(stop, VirtualRegister):
        return _on_registers(start, stop, step, is_frozen)
    return counted((start, stop, step), "dynamic", position)


def _on_registers(start, stop, step: int, is_frozen: bool):
    """Yields the register that counts, once."""
    control = current().control
    loop = control.open_range(start, stop, step, is_frozen)
    try:
        yield loop.register
    except GeneratorExit:
        if is_left_by_jump(kernel_frame()):
            control.leave(loop)
        return
    control.close(loop)


def fori_loop(lower, upper, body_fun, step=1):
    """body_fun(i) for i in range(lower, upper, step), as a loop on chip; bounds may be registers.

    `i` is handed over by value: writing to it does not change the loop. TypeError when body_fun
    returns something: iterations pass values to the next through memory.
    """
    for i in _dynamic(lower, upper, step, "fori_loop", False):
        returned = body_fun(i)
        if returned is not None:
            raise TypeError(
                f"the body of a fori_loop returns nothing, but this one returned {returned!r}; "
                "carry values in tensors that are made outside of the loop."
            )


def while_loop(init, body_fun):
    """r = init; while r != 0: r = body_fun(r), as a loop on chip.

    `init` is unchanged; the body gets its own register and returns the one that decides about
    the next iteration. TypeError when either is not a register.
    """
    trace = current()
    control = trace.control
    control.check_order("while_loop")
    if not isinstance(init, VirtualRegister):
        raise TypeError(f"while_loop: init is {init!r}, not a register of nisa.register_alloc.")
    condition = control.new_register()
    trace.builder.register_move(condition.index, src_register=init.index)
    loop = control.open_while(condition, None)
    following = body_fun(condition)
    if not isinstance(following, VirtualRegister):
        raise TypeError(
            f"the body of a while_loop returns the register of the next condition, but this one "
            f"returned {following!r}."
        )
    if following is not condition:
        trace.builder.register_move(condition.index, src_register=following.index)
    control.close(loop)
