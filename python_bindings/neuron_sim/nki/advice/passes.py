"""What passes of the compiler that did not run would do: a kernel can do it by itself."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from neuron_sim import _core
from neuron_sim.timeline.changes import Trial
from neuron_sim.timeline.what_if import overlay

from .calls import altered
from .loops import order_trials

_GUIDE = "nki/deep-dives/nki_perf_guide.rst"
_DMA = "nki/get-started/about/nki-dma-overview.rst: descriptors"
_KEEP = "Keep intermediate results in SBUF"


class _Pass(NamedTuple):
    title: str
    write: str
    lesson: str
    settings: tuple[str, ...]
    only_with: str = ""
    """An instruction without which the pass has nothing to do."""


_PASSES = (
    _Pass("Descriptors that GpSimd does not write",
          "compile with --disable-dge (additional_compile_opt of nki.jit and nki.benchmark, or "
          "NEURON_CC_FLAGS), so that the compiler prepares the descriptors of the transfers; most "
          "are those of {line}.", _DMA, ("disable_dge",)),
    _Pass("Load once, keep in SBUF", "load before the loop what {line} loads again and again.",
          f"{_GUIDE}: Opt #1", ("reuse_loads",)),
    _Pass(_KEEP,
          "use the tile that was stored to HBM instead of loading it at {line}.",
          f"{_GUIDE}: Opt #2", ("forward_stores",)),
    _Pass("Compute once, before the loop",
          "move {line} out of the loops in which its operands do not change.",
          f"{_GUIDE}: Opt #1", ("hoist_invariants",)),
    _Pass("Larger transfers", "move adjacent tiles with one transfer at {line}.",
          f"{_GUIDE}: Opt #9", ("merge_dma", "merge_input_loads")),
    _Pass("Transpose once", "keep the transposed tile of {line} for all its uses.",
          f"{_GUIDE}: Opt #8", ("reuse_transposes",), "nc_transpose"),
    _Pass("Fewer copies out of PSUM",
          "put several transposes into one bank of PSUM and copy them at once at {line}.",
          f"{_GUIDE}: Opt #5a", ("batch_transposes",), "nc_transpose"),
    _Pass("Read PSUM in place",
          "let Vector or Scalar read the tile in PSUM instead of the copy that {line} makes.",
          f"{_GUIDE}: Opt #6", ("elide_psum_copies",), "tensor_copy"),
    _Pass("No copies within SBUF", "use the tile itself instead of the copy that {line} makes.",
          f"{_GUIDE}: Opt #6", ("eliminate_copies",), "tensor_copy"),
    _Pass("Two operations in one instruction",
          "do what {line} does in the instruction that alone reads its result: tensor_scalar takes "
          "two operations, scalar_tensor_tensor one and a tile, activation a scale and a bias.",
          f"{_GUIDE}: Opt #6", ("fuse_elementwise",), "tensor_scalar"),
    _Pass("No memset before what overwrites it",
          "leave out the memset of {line}: the first product of a sum can overwrite.",
          f"{_GUIDE}: Opt #6", ("fold_zeros",), "memset"),
    _Pass("Narrow results together",
          "collect the results of one element per partition of {line} in one tile and work on all "
          "of them at once.", f"{_GUIDE}: Opt #5a", ("batch_narrow_operations",)),
    _Pass("Double buffers",
          "allocate the tiles inside of the loop around {line}, or two of each, so that the next "
          "iteration does not wait for this one.", f"{_GUIDE}: Opt #4", ("rename_buffers",)),
)  # fmt: skip


def pass_trials(kernel: Any) -> Iterator[Trial]:
    """A trial for each pass that the kernel's stack does not have."""
    stack = kernel.settings
    used = {each["name"] for each in kernel.source.operations()}
    for each in _PASSES:
        wanted = dict.fromkeys(each.settings, 1)
        if "disable_dge" in wanted:
            is_possible = not kernel.objection  # without a model of the compiler, flags do nothing
        else:
            is_possible = stack["rename_buffers"] or "rename_buffers" in wanted
        if is_possible and not (each.only_with and each.only_with not in used):
            if not all(stack[name] for name in wanted):
                program = functools.partial(_core.compile_program, kernel.source, stack | wanted)
                yield Trial(each.title, each.write, each.lesson, program)


_ROOM = 64
"""How many times SBUF is larger where every byte stays that was loaded once."""
_REPEATED = 1.1
"""Ratio of loaded bytes to bytes of the read tensors above which some are loaded again."""


def load_trials(kernel: Any) -> Iterator[Trial]:
    """Loops in another order or in blocks, for a kernel that loads bytes again because SBUF does
    not hold them all, and fused loops, for one that keeps intermediate results in HBM for that
    reason: the time of the last two with room for all is that of loops that need each tile once.
    One whose tiles alone do not fit SBUF gains nothing by blocks of them: a block is one tile."""
    if kernel.objection:
        return
    arguments = kernel.program.arguments
    read = sum(each["bytes"] for each in arguments if each["read"])
    loaded = kernel.program.counters()["hbm_read_bytes"]
    is_repeated = loaded >= _REPEATED * read
    if is_repeated:
        yield from order_trials(kernel)
    if is_repeated and not kernel.program.spills["saves"]:
        yield Trial(
            "Loops in blocks",
            f"{loaded:,} bytes are loaded from tensors of {read:,}. Split the loops around "
            "{line} into blocks whose tiles fit SBUF, so that a tile is loaded for a block and not "
            "for each iteration.",
            f"{_GUIDE}: Opt #1",
            lambda: _with_room(kernel, "reuse_loads"),
        )
    if intermediates := _intermediates(kernel):
        yield Trial(
            _KEEP,
            "fuse the loop around {line} with the one that stores these tiles to HBM, so that they "
            "are used in SBUF.",
            f"{_GUIDE}: Opt #2",
            lambda: _with_room(kernel, "reuse_loads", "forward_stores", unreturned=intermediates),
        )


def _intermediates(kernel: Any) -> frozenset[str]:
    """Names of tensors in HBM that a kernel writes and reads, and callers do not get."""
    arguments, returned = kernel.source.arguments, set(kernel.returned_numbers())
    kept = {arguments[number]["label"] for number in returned.union(range(len(kernel.inputs)))}
    written = {each["label"] for each in arguments if each["read"] and each["written"]}
    return frozenset(written - kept)


def _with_room(kernel: Any, *passes: str, unreturned: frozenset[str] = frozenset()) -> Any:
    """The program of a kernel whose tiles all fit SBUF, with other passes; these tensors in HBM are
    not stored where nothing loads them any more."""
    facts = kernel.source.facts
    larger = {key: facts[key]["value"] * _ROOM
              for key in ("limits.sbuf_usable", "limits.sbuf_partition")}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "room.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(overlay(kernel.source, larger))
        traced = altered(kernel.call, architecture=path, unreturned=unreturned).trace_anew()
        return _core.compile_program(traced.source, kernel.settings | dict.fromkeys(passes, 1))
