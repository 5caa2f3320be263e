"""Scopes that `if`, `else` and `for` open in the source of a kernel of the old language.

A tensor that is assigned to a variable in the body of a `for`, or of an `if` on a loop's variable,
lives in that block only; a compile-time `if` is not a block (public kernels rely on it).
Python knows no such scope: it matters for variables read outside of a block that assigns them.
"""

from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from ...syntax.scopes import LOOP, Lines, leaking


@dataclass(slots=True, eq=False)
class BlockScope:
    """The lines of a block of some code; `scope`: the number of the scope around it."""

    scope: int
    code: CodeType
    lines: Lines

    def holds(self, frame: FrameType | None) -> bool:
        """Whether the code of the block is inside of it now; True when it does not run."""
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return frame is None or self._holds(frame.f_lineno)

    def holds_line(self, line: str) -> bool:
        """Whether it holds a line `file:line` of the kernel; True for lines of other functions."""
        file, _, number = line.rpartition(":")
        is_own = file == self.code.co_filename and _has_line(self.code, int(number))
        return not is_own or self._holds(int(number))

    def _holds(self, line: int) -> bool:
        return self.lines[0] <= line <= self.lines[1]


def _has_line(code: CodeType, line: int) -> bool:
    """Whether a line is one of a function's own, not of a function that it defines."""
    if not code.co_firstlineno <= line <= _last_line(code):
        return False
    return not any(isinstance(each, CodeType) and _has_line(each, line) for each in code.co_consts)


def _last_line(code: CodeType) -> int:
    inner = [_last_line(each) for each in code.co_consts if isinstance(each, CodeType)]
    return max([*inner, *(line for _, _, line in code.co_lines() if line is not None)])


def error(storage: Any) -> ValueError:
    """err_local_variable_used_out_of_scope."""
    block = storage.scope.lines[2] if isinstance(storage.scope, BlockScope) else LOOP
    return ValueError(
        f"Local variable '{storage.name}' is referenced outside of its parent scope: tensors "
        f"defined in {block} live in its body only."
    )


def scope_at(scope: int, place: tuple) -> int | BlockScope:
    """The scope of a tensor that is assigned at a place (see syntax.places.place_at)."""
    line, name, _, code, _ = place
    number = int(line.rpartition(":")[2])
    blocks = leaking(code).get(name, ()) if name else ()
    around = [lines for lines in blocks if lines[0] <= number <= lines[1]]
    return BlockScope(scope, code, max(around)) if around else scope
