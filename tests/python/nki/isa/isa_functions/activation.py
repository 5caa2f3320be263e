"""Functions of the Scalar engine's activation, and exponential."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import uniform

from .function import EVERYWHERE, READ_ACCUMULATOR, Cost, Example, Function, Limit
from .tiles import column, half, hundreds, old_wide, tile, wide

activate2 = Function(
    signature="dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, "
        "reverse1=False, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
        "name=None",
    limit=Limit(
        lambda k: nisa.activate2(tile(128, 40), nl.exp, tile(128, 40), tile(128, k), 0.0,
            nl.multiply, nl.add), (1, 2),
        "operand 'imm0[128, 2]' of 'activate2' must have one element per partition, but it has 2.",
        architecture="trn3"),
    costs=Cost("Scalar",
        lambda n: nisa.activate2(wide(n), nl.copy, wide(n), 1.0, 0.0, nl.multiply, nl.add),
        (None, None, 1), undocumented=True),
    example_test="test_isa_selections::test_activate2_configures_its_stage_on_trn3",
)  # fmt: skip
activation = Function(
    signature="dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
    "reduce_cmd=reduce_cmd.idle, name=None",
    old_signature="op, data, *, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
    "reduce_cmd=reduce_cmd.idle, mask=None, dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.activation(tile(128, 40), nl.exp, tile(128, 40), bias=tile(128, k)),
        (1, 2),
        "operand 'bias[128, 2]' of 'activation' must have one element per partition, but it has 2.",
    ),
    costs={
        "": Cost(
            "Scalar",
            lambda n: nisa.activation(wide(n), nl.copy, wide(n)),
            EVERYWHERE,
            old_body=lambda n: old_nisa.activation(old_nl.copy, old_wide(n)),
        ),
        "with a sum": Cost(
            "Scalar",
            lambda n: nisa.activation(
                wide(n),
                nl.copy,
                wide(n),
                reduce_op=nl.add,
                reduce_res=column(),
                reduce_cmd=nisa.reduce_cmd.reset_reduce,
            ),
            EVERYWHERE,
            READ_ACCUMULATOR,
        ),
    },
    examples={
        "exp": Example(
            lambda a: old_nisa.activation(op=old_nl.exp, data=a), [uniform(128, 1024)], np.exp
        ),
        "scaled and shifted": Example(
            lambda b, c: old_nisa.activation(op=np.square, data=b, bias=c, scale=2.0),
            [hundreds(128, 512), hundreds(128, 1)],
            lambda b, c: np.square(b * 2 + c),
        ),
    },
)
activation_reduce = Function(
    signature="dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None",
    old_signature="op, data, *, reduce_op, reduce_res, bias=None, scale=1.0, mask=None, "
        "dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.activation_reduce(tile(128, 40), nl.exp, tile(128, 40), nl.add,
            tile(128, k)), (1, 2),
        "operand 'reduce_res[128, 2]' of 'activation_reduce' must have one element per "
        "partition, but it has 2."),
    costs=Cost("Scalar",
        lambda n: nisa.activation_reduce(wide(n), nl.copy, wide(n), nl.add, column()), EVERYWHERE,
        READ_ACCUMULATOR,
        old_body=lambda n: old_nisa.activation_reduce(old_nl.copy, old_wide(n), reduce_op=np.add,
            reduce_res=old_wide(1))),
    example_test="test_isa_reductions::test_activation_reduce_writes_function_and_sum",
)  # fmt: skip
exponential = Function(
    signature="dst, src, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
        "reduce_init=0.0, name=None",
    limit=Limit(lambda k: nisa.exponential(tile(128, 40), tile(128, 40), tile(128, k)), (1, 2),
        "operand 'max_value[128, 2]' of 'exponential' must have one element per partition, but it "
        "has 2.", architecture="trn3"),
    costs=Cost("Vector", lambda n: nisa.exponential(half(n), half(n)), (None, None, 1 / 4)),
    example_test="test_isa_selections::test_exponential_sums_on_trn3",
)  # fmt: skip
