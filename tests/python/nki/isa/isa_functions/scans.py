"""Reductions that keep each intermediate value (device/isa/reduction)."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import uniform

from .function import Cost, Example, Function, Limit
from .tiles import old_wide, tile, wide


def _cumulative(a):
    result = old_nl.ndarray(a.shape, dtype=old_nl.float32)
    old_nisa.tensor_scalar_cumulative(
        dst=result, src=a, op0=old_nl.add, op1=old_nl.multiply, imm0=0.5,
        reduce_cmd=old_nisa.reduce_cmd.reset_reduce,
    )  # fmt: skip
    return result


def _in_two_halves(a, b):
    c = old_nl.ndarray((128, 1024), dtype=old_nl.float32)
    c[:, 0:512] = old_nisa.tensor_tensor_scan(
        a[:, 0:512], b[:, 0:512], initial=0, op0=np.multiply, op1=np.add
    )
    c[:, 512:1024] = old_nisa.tensor_tensor_scan(
        a[:, 512:1024], b[:, 512:1024], initial=c[:, 511:512], op0=np.multiply, op1=np.add
    )
    return c


def _recurrence(a, b):
    result = np.zeros(a.shape)
    before = np.zeros(a.shape[0])
    for i in range(a.shape[1]):
        before = result[:, i] = a[:, i] * before + b[:, i]
    return result


tensor_scalar_cumulative = Function(
    signature="dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reduce_cmd.reset_reduce, name=None",
    limit=Limit(
        lambda k: nisa.tensor_scalar_cumulative(tile(128, 40), tile(128, k), nl.multiply, nl.add,
            1.0), (40, 41),
        "number of elements per partition mismatch in parameters (dst[128, 40], src[128, 41]) of "
        "'tensor_scalar_cumulative'"),
    costs=Cost("Vector",
        lambda n: nisa.tensor_scalar_cumulative(wide(n), wide(n), nl.multiply, nl.add, 1.0),
        (2, 2, 2), undocumented=True),
    examples=Example(_cumulative, [uniform(128, 16, low=0.1)],
        lambda a: np.multiply.accumulate(a + 0.5, axis=1)),
)  # fmt: skip
tensor_tensor_scan = Function(
    signature="dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False, name=None",
    old_signature="data0, data1, initial, op0, op1, reverse0=False, reverse1=False, *, "
        "dtype=None, mask=None, **kwargs",
    limit=Limit(
        lambda k: nisa.tensor_tensor_scan(tile(128, 40), tile(128, 40), tile(128, k), 0.0,
            nl.multiply, nl.add), (40, 41),
        "number of elements per partition mismatch in parameters (dst[128, 40], data1[128, 41]) "
        "of 'tensor_tensor_scan'"),
    costs=Cost("Vector",
        lambda n: nisa.tensor_tensor_scan(wide(n), wide(n), wide(n), 0.0, nl.multiply, nl.add),
        (2, 2, 2),
        old_body=lambda n: old_nisa.tensor_tensor_scan(old_wide(n), old_wide(n), 0.0, np.multiply,
            np.add)),
    examples=Example(_in_two_halves, [uniform(128, 1024), uniform(128, 1024)], _recurrence),
)  # fmt: skip
