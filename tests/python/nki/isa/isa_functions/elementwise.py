"""Functions of each element: arithmetic, reciprocals, masks by a pattern."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np

from .function import EVERYWHERE, TWO_IN_SBUF, Cost, Example, Function, Limit
from .tiles import half, hundreds, old_half, old_wide, tile, wide


def _affine_select(n):
    i_p, i_f = old_nl.arange(128)[:, None], old_nl.arange(n)[None, :]
    return old_nisa.affine_select(pred=(i_p > i_f), on_true_tile=old_wide(n), on_false_value=0.0)


def _below_the_diagonal(a):
    i_p, i_f = old_nl.mgrid[0:128, 0:128]
    return old_nisa.affine_select(
        pred=(i_f < i_p), on_true_tile=a[i_p, i_f], on_false_value=old_nl.fp32.min
    )


affine_select = Function(
    signature="dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=equal, "
        "offset=0, name=None",
    old_signature="pred, on_true_tile, on_false_value, *, mask=None, dtype=None, **kwargs",
    limit=Limit(lambda k: nisa.affine_select(tile(128, 40), [[1, k]], 1, tile(128, 40), 0.0),
        (40, 41),
        "size0 41 of the pattern of 'affine_select' must be from 1 to the 40 elements per "
        "partition of operand 'dst'."),
    costs=Cost("GpSimd", lambda n: nisa.affine_select(wide(n), [[1, n]], 1, wide(n), 0.0),
        EVERYWHERE, old_body=_affine_select),
    examples=Example(_below_the_diagonal, [hundreds(128, 128)],
        lambda a: np.where(np.tri(128, k=-1) > 0, a, old_nl.fp32.min)),
)  # fmt: skip
reciprocal = Function(
    signature="dst, data, name=None",
    old_signature="data, *, dtype=None, mask=None, **kwargs",
    limit=Limit(
        lambda k: nisa.reciprocal(tile(128, 40), tile(128, k)),
        (40, 41),
        "number of elements per partition mismatch in parameters (dst[128, 40], data[128, "
        "41]) of 'reciprocal'",
    ),  # Documented as 8; a measured kernel of trn1 refutes it
    # (docs/hardware_facts.md#reciprocal).
    costs=Cost(
        "Vector",
        lambda n: nisa.reciprocal(wide(n), wide(n)),
        (2.6, 8, 8),
        old_body=lambda n: old_nisa.reciprocal(old_wide(n)),
    ),
    examples=Example(old_nisa.reciprocal, [hundreds(128, 512) + 1], lambda a: 1 / a),
)
scalar_tensor_tensor = Function(
    signature="dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, name=None",
    old_signature="*, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, "
        "dtype=None, mask=None, **kwargs",
    limit=Limit(
        lambda k: nisa.scalar_tensor_tensor(tile(128, 40), tile(128, 40), nl.add, 1.0, nl.multiply,
            tile(128, k)), (40, 39),
        "number of elements per partition mismatch in parameters (dst[128, 40], operand1[128, "
        "39]) of 'scalar_tensor_tensor'"),
    costs=Cost("Vector",
        lambda n: nisa.scalar_tensor_tensor(wide(n), wide(n), nl.add, 1.0, nl.multiply, wide(n)),
        TWO_IN_SBUF,
        old_body=lambda n: old_nisa.scalar_tensor_tensor(data=old_wide(n), op0=np.add, operand0=1.0,
            op1=np.multiply, operand1=old_wide(n))),
    example_test="test_isa_old::test_an_instruction_returns_its_result[scalar_tensor_tensor]",
)  # fmt: skip
tensor_scalar = Function(
    signature="dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, "
        "engine=engine.unknown, name=None",
    old_signature="data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, "
        "*, dtype=None, mask=None, engine=engine.unknown, **kwargs",
    limit=Limit(lambda k: nisa.tensor_scalar(tile(128, 40), tile(128, 40), nl.add, tile(128, k)),
        (1, 2),
        "operand 'operand0[128, 2]' of 'tensor_scalar' must have one element per partition, but "
        "it has 2."),
    costs={
        "": Cost("Vector", lambda n: nisa.tensor_scalar(wide(n), wide(n), nl.add, 1.0),
            (1, 1 / 2, 1 / 2), old_body=lambda n: old_nisa.tensor_scalar(old_wide(n), np.add, 1.0)),
        "of bf16": Cost("Vector", lambda n: nisa.tensor_scalar(half(n), half(n), nl.add, 1.0),
            (1, 1 / 4, 1 / 4), old_body=lambda n: old_nisa.tensor_scalar(old_half(n), np.add, 1.0)),
        "on GpSimd": Cost("GpSimd",
            lambda n: nisa.tensor_scalar(wide(n), wide(n), nl.rsqrt, 0.0,
                engine=nisa.engine.gpsimd), (4, 4, 4)),
    },
    examples={
        "": Example(lambda a: old_nisa.tensor_scalar(a, np.subtract, 1.0), [hundreds(128, 512)],
            lambda a: a - 1),
        "reversed": Example(lambda a: old_nisa.tensor_scalar(a, np.subtract, 1.0, reverse0=True),
            [hundreds(128, 512)], lambda a: 1 - a),
        "of two operators": Example(
            lambda e, f: old_nisa.tensor_scalar(e, op0=np.multiply, operand0=f, op1=np.add,
                operand1=2.5), [hundreds(64, 1024), hundreds(64, 1)], lambda e, f: e * f + 2.5),
    },
)  # fmt: skip
tensor_tensor = Function(
    signature="dst, data1, data2, op, engine=engine.unknown, name=None",
    old_signature="data1, data2, op, *, dtype=None, mask=None, engine=engine.unknown, **kwargs",
    limit=Limit(lambda k: nisa.tensor_tensor(tile(128, 40), tile(128, 40), tile(k, 40), nl.add),
        (128, 127),
        "number of partitions (dimension 0 size of a tile) mismatch in parameters (data1[128, "
        "40], data2[127, 40]) of 'tensor_tensor'"),
    costs={
        "": Cost("Vector", lambda n: nisa.tensor_tensor(wide(n), wide(n), wide(n), nl.add),
            TWO_IN_SBUF,
            old_body=lambda n: old_nisa.tensor_tensor(old_wide(n), old_wide(n), np.add)),
        "with PSUM": Cost("Vector",
            lambda n: nisa.tensor_tensor(wide(n), wide(n), wide(n, psum=True), nl.add), EVERYWHERE,
            old_body=lambda n: old_nisa.tensor_tensor(old_wide(n), old_wide(n, buffer=old_nl.psum),
                np.add)),
        "of bf16": Cost("Vector", lambda n: nisa.tensor_tensor(half(n), half(n), half(n), nl.add),
            (1, 1 / 2, 1 / 2),
            old_body=lambda n: old_nisa.tensor_tensor(old_half(n), old_half(n), np.add)),
    },
    examples=Example(lambda a, b: old_nisa.tensor_tensor(a, b, op=old_nl.add),
        [hundreds(128, 512), hundreds(128, 512)], lambda a, b: a + b),
)  # fmt: skip
