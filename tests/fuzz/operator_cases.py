"""Operators of torch on the device against the CPU: values, or the class of the error.

The operators and samples are those of torch.testing's database, changed at random. A block of seeds
shares few operators, because making their samples costs more than running them.
"""

from __future__ import annotations

import functools
import random
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "torch_suites"))

import neuron_sim.torch_device  # noqa: F401
import torch
from comparison import DifferenceError, check_same
from conditions import conditions_of
from findings import FoundError, source_of
from operator_mutations import MUTATIONS, Arguments
from peculiarities import OWN_RANDOM, UNDEFINED, RandomCalls, placed, plain_name, without_ties
from placement import UnsupportedLayoutError, fresh, in_double, tensors
from torch.testing._internal.common_methods_invocations import op_db

BLOCK = 250
PAIRS = 8
SAMPLES = 6
_DTYPES = (
    [torch.float32] * 8 + [torch.bfloat16] * 3 + [torch.float16, torch.int64] * 2
    + [torch.int32, torch.uint8, torch.bool, torch.int8, torch.int16, torch.float64,
       torch.complex64]
)  # fmt: skip
# Sizes that an argument asks for are not always refused in time.
_HOST_BYTES = 6 << 30
# What the CPU does is undefined: results depend on memory, threads or the order of equal elements;
# native_batch_norm and its like write past vectors of other lengths, linalg.eigvals crashes on NaN,
# _segment_reduce on offsets that are out of bounds.
_UNDEFINED_ON_CPU = {"resize_", "resize_as_", "as_strided", "as_strided_copy", "as_strided_scatter",
                     "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update",
                     "linalg.eigvals", "_segment_reduce"}  # fmt: skip
# Polynomials take time by their degree.
_MOST_DEGREES = 1000
_MEMORY = ("not enough memory", "out of memory", "can't allocate", "bytes of HBM")


def _limit_memory() -> None:
    """On top of what the process has with the device's memories, which are reserved."""
    torch.ones(1, device="neuron_sim")
    status = Path("/proc/self/status").read_text()
    used = int(status.partition("VmData:")[2].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + _HOST_BYTES, used + _HOST_BYTES))


_limit_memory()
torch.set_num_threads(1)
warnings.simplefilter("ignore")


@functools.lru_cache(maxsize=2 * PAIRS)
def _samples(number: int, dtype: torch.dtype) -> list[Arguments]:
    """Samples of an operator on the CPU, the same ones each time; some that are refused."""
    op = op_db[number]
    torch.manual_seed(5)
    result = []
    try:
        # Not op.sample_inputs(), which looks at the source of its callers for each sample.
        for sample in op.sample_inputs_func(op, "cpu", dtype, False):
            result.append((sample.input, sample.args, sample.kwargs))
            if len(result) == SAMPLES:
                break
        if op.error_inputs_func is not None:
            for error in op.error_inputs_func(op, "cpu"):
                sample = error.sample_input
                result.append((sample.input, sample.args, sample.kwargs))
                if len(result) == 2 * SAMPLES:
                    break
    except Exception:
        return result
    return result


def _pairs(block: int) -> list[tuple[int, torch.dtype]]:
    source = source_of("operators of a block", block)
    pairs = []
    while len(pairs) < PAIRS:
        number = source.randrange(len(op_db))
        dtype = source.choice(_DTYPES)
        if dtype in op_db[number].supported_dtypes("cpu"):
            pairs.append((number, dtype))
    return pairs


def _refused_alike(here: Exception, there: Exception) -> bool:
    if type(there) is type(here):
        return True
    texts = (str(here), str(there))
    return any(word in text for text in texts for word in _MEMORY)


def _endless(op: Any, arguments: Arguments) -> bool:
    """Whether both devices would compute for minutes."""
    degrees = tensors(arguments[1])
    return "polynomial" in op.name and any(
        bool((each.double().abs() > _MOST_DEGREES).any()) for each in degrees
    )


def _differ_where_not_finite(found: Any, expected: Any, exact: Any) -> bool:
    """Whether results differ from the CPU's, and from those in double precision if there are any,
    only in elements that are not finite in one of them."""
    pairs = list(zip(tensors(found), tensors(expected), strict=False))
    doubles = tensors(exact)
    for place, (ours, theirs) in enumerate(pairs):
        ours = ours.cpu()
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype or not ours.is_floating_point():
            return False
        tolerance = max(1e-3, 2 * torch.finfo(ours.dtype).eps)
        fine = ~ours.isfinite() | ~theirs.isfinite()
        for other in (theirs, *doubles[place : place + 1]):
            if other.shape == ours.shape and not other.is_complex():
                fine |= torch.isclose(ours.double(), other.double(), tolerance, 1e-5)
        if not fine.all():
            return False
    return bool(pairs)


def _reads_beyond(op: Any, arguments: Arguments) -> bool:
    """Whether torch's CPU kernel reads what nothing wrote: ctc_loss does with a label that is not a
    class, embedding_bag without offsets, grid_sampler with a mode that it does not know."""
    if "grid_sampler" in op.name:
        return any(type(mode) is int and mode not in (0, 1, 2) for mode in arguments[1][1:3])
    if "embedding_bag" in op.name:
        offsets = arguments[2].get("offsets")
        return offsets is not None and offsets.numel() == 0
    if "ctc_loss" not in op.name:
        return False
    scores, targets = arguments[0], arguments[1][0]
    return bool(((targets < 0) | (targets >= scores.shape[-1])).any())


def _bytes(value: Any) -> list[torch.Tensor]:
    """The storages of the tensors, on the CPU."""
    return [
        torch.empty(0, dtype=torch.uint8).set_(tensor.detach().cpu().untyped_storage())
        if tensor.device.type == "cpu"
        else torch.empty(0, dtype=torch.uint8, device=tensor.device)
        .set_(tensor.detach().untyped_storage())
        .cpu()
        for tensor in tensors(value)
    ]


def _described(value: Any) -> str:
    def leaf(each: Any) -> Any:
        if not isinstance(each, torch.Tensor):
            return each
        text = f"{each.dtype} {tuple(each.shape)}"
        if each.layout is torch.strided and not each.is_contiguous():
            text += f" strides {each.stride()} offset {each.storage_offset()}"
        if 0 < each.numel() <= 8:
            text += f" = {each.tolist()}"
        return f"<{text}>"

    return str(torch.utils._pytree.tree_map(leaf, value))


class Case:
    """An operator with arguments on the CPU, `form`: the operator itself or its in-place form."""

    def __init__(self, op: Any, arguments: Arguments, form: str) -> None:
        self.op, self.arguments, self.form = op, arguments, form

    def call(self, arguments: Arguments) -> Any:
        torch.default_generator.manual_seed(5)
        first, others, options = arguments
        function = self.op.inplace_variant if self.form == "in place" else self.op
        return function(first, *others, **options)

    def name(self) -> str:
        variant = f".{self.op.variant_test_name}" if self.op.variant_test_name else ""
        return f"{self.op.name}{variant}" + (" in place" if self.form == "in place" else "")

    def found(self, what: str, detail: str) -> FoundError:
        text = f"{detail}\n{_described(self.arguments)}"
        return FoundError(f"{self.name()}: {what}", text, conditions_of(self.arguments))

    def check(self) -> str:
        here = fresh(self.arguments)
        there = placed(self.op, self.arguments)
        before = _bytes(there)
        refusal, random_ = None, RandomCalls()
        try:
            with random_:
                expected = self.call(here)
        except Exception as error:
            refusal = error
        try:
            found = self.call(there)
        except Exception as error:
            return self._check_refusal(error, refusal, before, here, there)
        if refusal is not None:
            raise self.found(
                f"accepted, the CPU refuses with {type(refusal).__name__}", str(refusal)[:300]
            )
        name = plain_name(self.op)
        if name in UNDEFINED or name in OWN_RANDOM or random_.seen:
            return "random or undefined"
        try:
            self._check_values(found, expected)
        except RuntimeError as error:
            if any(word in str(error) for word in _MEMORY):
                return "memory"
            raise
        except (AssertionError, DifferenceError) as error:
            finite = not _differ_where_not_finite(found, expected, self._in_double())
            where = "" if finite else " where one is not finite"
            raise self.found(f"another value{where}", str(error)[:500]) from None
        return "compared"

    def _check_refusal(
        self, error: Exception, refusal: Exception | None, before: list[torch.Tensor],
        here: Arguments, there: Arguments,
    ) -> str:  # fmt: skip
        text = f"{type(error).__name__}: {str(error)[:300]}"
        if refusal is None:
            if any(word in str(error) for word in _MEMORY):
                return "memory"
            raise self.found("refused, the CPU computes it", text)
        if not _refused_alike(refusal, error):
            raise self.found(
                f"{type(error).__name__} instead of {type(refusal).__name__}",
                f"{text}\nthe CPU: {str(refusal)[:300]}",
            )
        unchanged = all(map(torch.equal, _bytes(here), before))
        if unchanged and not all(map(torch.equal, _bytes(there), before)):
            raise self.found("an error changed an input", text)
        return "refused alike"

    def _in_double(self) -> Any:
        """The results in double precision, or None for operators without a kernel for it."""
        try:
            return self.call(in_double(fresh(self.arguments)))
        except Exception:
            return None

    def _check_values(self, found: Any, expected: Any) -> None:
        def ordered(arguments: Arguments, result: Any) -> Any:
            return without_ties(self.op, arguments, result)

        check_same(
            ordered(self.arguments, found),
            ordered(self.arguments, expected),
            lambda: ordered(self.arguments, self.call(in_double(fresh(self.arguments)))),
        )


def make_case(seed: int) -> Case | None:
    """The case of a seed; None when the operator has no sample for the dtype."""
    source: random.Random = source_of("operators", seed)
    number, dtype = source.choice(_pairs(seed // BLOCK))
    samples = _samples(number, dtype)
    if not samples:
        return None
    op, arguments = op_db[number], fresh(source.choice(samples))
    for _ in range(source.choice((0, 1, 1, 2, 2, 3))):
        arguments = source.choice(MUTATIONS)(source, arguments)
    in_place = op.inplace_variant is not None and source.random() < 0.2
    return Case(op, arguments, "in place" if in_place else "itself")


def run_case(seed: int) -> str:
    """Compares one call; the word says how it ended."""
    try:
        case = make_case(seed)
        if case is None or plain_name(case.op) in _UNDEFINED_ON_CPU:
            return "no sample"
        if _endless(case.op, case.arguments):
            return "too slow"
        if _reads_beyond(case.op, case.arguments):
            return "random or undefined"
        return case.check()
    except UnsupportedLayoutError:
        return "no dense tensor"
