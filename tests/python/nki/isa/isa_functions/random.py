"""Random numbers, their seeds and states, and dropout."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl

from .function import EVERYWHERE, Cost, Function, Limit
from .tiles import old_wide, tile, wide

dropout = Function(
    signature="dst, data, prob, name=None",
    old_signature="data, prob, *, mask=None, dtype=None, **kwargs",
    limit=Limit(lambda k: nisa.dropout(tile(128, 40), tile(128, 40), tile(128, k)), (1, 2),
        "operand 'prob[128, 2]' of 'dropout' must have one element per partition, but it has 2."),
    costs=Cost("Vector", lambda n: nisa.dropout(wide(n), wide(n), 0.5), EVERYWHERE,
        old_body=lambda n: old_nisa.dropout(old_wide(n), 0.5)),
    example_test="test_isa_examples::test_dropout_drops_about_its_probability",
)  # fmt: skip
rand2 = Function(
    signature="dst, min, max, name=None",
    limit=Limit(lambda k: nisa.rand2(tile(128, 40), tile(128, k), 1.0), (1, 2),
        "operand 'min[128, 2]' of 'rand2' must have one element per partition, but it has 2.",
        architecture="trn3"),
    costs=Cost("Vector", lambda n: nisa.rand2(wide(n), 0.0, 1.0), (None, None, 1 / 4)),
    example_test="test_isa_random::test_rand2_is_uniform_between_its_bounds_on_trn3",
)  # fmt: skip
rand_get_state = Function(
    signature="dst, engine=engine.gpsimd, name=None",
    limit=Limit(lambda k: nisa.rand_get_state(tile(128, k, dtype=nl.uint32)), (6, 7),
        "operand 'dst' of 'rand_get_state' has 7 elements per partition; the random state of a "
        "lane of the GpSimd engine has 6."),
    costs=Cost("GpSimd", lambda n: nisa.rand_get_state(wide(6, nl.uint32)), (None, 0, 0), 6,
        undocumented=True),
    example_test="test_isa_random::test_the_state_of_a_generator_is_loaded_and_stored",
)  # fmt: skip
rand_set_state = Function(
    signature="src_seeds, engine=engine.gpsimd, name=None",
    limit=Limit(lambda k: nisa.rand_set_state(tile(128, k, dtype=nl.uint32)), (6, 7),
        "operand 'src_seeds' of 'rand_set_state' has 7 elements per partition; the random state "
        "of a lane of the GpSimd engine has 6."),
    costs=Cost("GpSimd", lambda n: nisa.rand_set_state(wide(6, nl.uint32)), (None, 0, 0), 6,
        undocumented=True),
    example_test="test_isa_random::test_the_state_of_a_generator_is_loaded_and_stored",
)  # fmt: skip
rng = Function(
    signature="dst, engine=engine.vector, name=None",
    limit=Limit(lambda k: nisa.rng(tile(128, 40, dtype=nl.uint32), engine=k),
        (nisa.engine.vector, nisa.engine.scalar),
        "instruction 'rng' cannot run on the Scalar engine; architecture trn2 has it on: Vector, "
        "GpSimd."),
    costs=Cost("Vector", lambda n: nisa.rng(wide(n, nl.uint32)), EVERYWHERE, undocumented=True),
    example_test="test_isa_gathers::test_random_numbers_depend_on_the_seed",
)  # fmt: skip
set_rng_seed = Function(
    signature="src_seeds, name=None",
    limit=Limit(lambda k: nisa.set_rng_seed(tile(1, k, dtype=nl.uint32)), (1, 2),
        "operand 'src_seeds' of 'set_rng_seed' must be a [1, 1] tile, but it is tensor[1, 2]."),
    costs=Cost("Vector", lambda n: nisa.set_rng_seed(tile(1, 1, dtype=nl.uint32)), (0, 0, 0), 1,
        undocumented=True),
    example_test="test_isa_gathers::test_random_numbers_depend_on_the_seed",
)  # fmt: skip
