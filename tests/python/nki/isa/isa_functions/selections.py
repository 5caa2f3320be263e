"""Selections by a predicate or range that also reduce (device/isa/reduction)."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import integers, uniform

from .function import READ_ACCUMULATOR, TWO_IN_SBUF, Cost, Example, Function, Limit
from .tiles import column, hundreds, old_wide, tile, wide


def _range_select(n):
    return old_nisa.range_select(
        on_true_tile=old_wide(n),
        comp_op0=np.greater_equal,
        comp_op1=np.less,
        bound0=old_wide(1),
        bound1=old_wide(1),
        reduce_cmd=old_nisa.reduce_cmd.reset_reduce,
        reduce_res=old_wide(1),
        reduce_op=np.max,
    )


def _in_range(data, first, end):
    result = old_nl.ndarray(data.shape, dtype=old_nl.float32)
    largest = old_nl.ndarray((128, 1), dtype=old_nl.float32)
    result[...] = old_nisa.range_select(
        on_true_tile=data, comp_op0=np.greater_equal, comp_op1=np.less, bound0=first, bound1=end,
        range_start=32, on_false_value=old_nl.fp32.min, reduce_cmd=old_nisa.reduce_cmd.reset_reduce,
        reduce_res=largest, reduce_op=np.max,
    )  # fmt: skip
    return old_nl.maximum(result, largest)


def _range(data, first, end):
    position = 32 + np.arange(data.shape[1])
    kept = np.where((position >= first) & (position < end), data, old_nl.fp32.min)
    return np.maximum(kept, kept.max(axis=1, keepdims=True))


def _select_reduce(n):
    return old_nisa.select_reduce(
        dst=old_wide(n), predicate=old_wide(n, old_nl.uint8), on_true=old_wide(n), on_false=0.0
    )


def _selected(predicate, on_true, on_false):
    result = old_nl.ndarray(on_true.shape, dtype=old_nl.float32)
    largest = old_nl.ndarray((128, 1), dtype=old_nl.float32)
    old_nisa.select_reduce(
        dst=result, predicate=predicate, on_true=on_true, on_false=on_false,
        reduce_cmd=old_nisa.reduce_cmd.reset_reduce, reduce_res=largest, reduce_op=old_nl.max,
    )  # fmt: skip
    return old_nisa.tensor_scalar(result, np.subtract, largest)


def _select(predicate, on_true, on_false):
    chosen = np.where(predicate, on_true, on_false)
    return chosen - chosen.max(axis=1, keepdims=True)


range_select = Function(
    signature="dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, "
        "reduce_cmd=reduce_cmd.reset_reduce, reduce_res=None, reduce_op=maximum, "
        "range_start=0, on_false_value=-3.4028234663852886e+38, name=None",
    old_signature="*, on_true_tile, comp_op0, comp_op1, bound0, bound1, "
        "reduce_cmd=reduce_cmd.idle, reduce_res=None, reduce_op=max, range_start=0, "
        "on_false_value=-3.4028234663852886e+38, mask=None, dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.range_select(tile(128, 40), tile(128, 40), nl.greater_equal, nl.less,
            tile(128, 1), tile(128, k), reduce_res=tile(128, 1)), (1, 2),
        "operand 'bound1[128, 2]' of 'range_select' must have one element per partition, but it "
        "has 2."),
    costs=Cost("Vector",
        lambda n: nisa.range_select(wide(n), wide(n), nl.greater_equal, nl.less, column(), column(),
            reduce_res=column()), (None, 1, 1), READ_ACCUMULATOR, old_body=_range_select),
    examples=Example(_in_range, [uniform(128, 512),
            integers(128, 1, low=32, high=200).astype(np.float32),
            integers(128, 1, low=200, high=540).astype(np.float32)], _range),
)  # fmt: skip
select_reduce = Function(
    signature="dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
        "reduce_op=maximum, reverse_pred=False, name=None",
    old_signature="*, dst, predicate, on_true, on_false, reduce_res=None, "
        "reduce_cmd=reduce_cmd.idle, reduce_op=max, reverse_pred=False, mask=None, "
        "dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.select_reduce(tile(128, 40), tile(128, 40, dtype=nl.uint8), tile(128, 40),
            0.0, tile(128, k), reduce_cmd=nisa.reduce_cmd.reset_reduce), (1, 2),
        "operand 'reduce_res[128, 2]' of 'select_reduce' must have one element per partition, "
        "but it has 2."),
    costs=Cost("Vector", lambda n: nisa.select_reduce(wide(n), wide(n, nl.uint8), wide(n), 0.0),
        TWO_IN_SBUF, undocumented=True, old_body=_select_reduce),
    examples=Example(_selected,
        [integers(128, 512, high=2, dtype=np.uint8), hundreds(128, 512), hundreds(128, 1)],
        _select),
)  # fmt: skip
