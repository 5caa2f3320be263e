"""The compiler's passes from Python: settings, stacks, bytes and times."""

import numpy as np
import pytest
from neuron_sim import _core


def _doubled(tiles: int = 6) -> "_core.Program":
    """out = x + x, a tile of 128 x 64 at a time."""
    builder = _core.Builder("doubled")
    x = builder.argument("x", [tiles, 128, 64])
    out = builder.argument("out", [tiles, 128, 64])

    def body(i):
        tile = builder.sbuf("tile", [128, 64])
        result = builder.sbuf("result", [128, 64])
        builder.dma_copy(tile, x[i])
        builder.tensor_tensor(result, tile, tile, "add")
        builder.dma_copy(out[i], result)

    builder.loop(tiles, body)
    return builder.finish()


def test_a_compiled_program_computes_the_same_and_overlaps_its_iterations():
    program = _doubled()
    settings = _core.published_stacks()["neuronx-cc trn2 direct"]["settings"]
    compiled = _core.compile_program(program, settings)
    assert compiled.instructions == 18
    x = np.random.default_rng(3).standard_normal((6, 128, 64)).astype(np.float32)
    out = np.zeros_like(x)
    compiled.run([x, out])
    np.testing.assert_array_equal(out, x + x)
    assert compiled.time()["body_us"] < program.time()["body_us"]


def test_without_settings_a_program_comes_back_as_it_is():
    program = _doubled()
    assert _core.compile_program(program, {}).listing() == program.listing()
    assert "loop" in program.listing()


def test_settings_are_checked_by_name_and_value():
    program = _doubled()
    with pytest.raises(ValueError, match=r"setting 'schedul' of the compiler's passes is unknown"):
        _core.compile_program(program, {"schedul": 1})
    with pytest.raises(ValueError, match=r"'schedule' .* is 2, but must be 0 or 1\."):
        _core.compile_program(program, {"schedule": 2})
    with pytest.raises(ValueError, match=r"'buffers_per_tile' .* is -1, but must be 0 or more\."):
        _core.compile_program(program, {"buffers_per_tile": -1})


def test_every_stack_names_its_source_and_settings():
    stacks = _core.published_stacks()
    assert stacks["none"]["description"] == "none"
    assert not any(stacks["none"]["settings"].values())
    for name, stack in stacks.items():
        assert stack["source"] and stack["compiler"], name
        assert ("disable_dge" in stack["description"]) == ("disable-dge" in name or "trn1" in name)


def test_a_program_that_cannot_be_unrolled_says_why():
    assert _core.pass_objection(_doubled()) == ""
    assert "more than the 200000" in _core.pass_objection(_doubled(66_667))


def _normalised(columns: int) -> _core.Program:
    """Eight tiles [128, columns] over their row maxima: one [128, 1] instruction per tile, which
    the compiler would like to make one of [128, 8]; all tiles wait for it."""
    builder = _core.Builder("normalised", "trn2")
    x = builder.argument("x", [8, 128, columns])
    out = builder.argument("out", [8, 128, columns])

    def body(i: _core.Affine) -> None:
        tile = builder.sbuf("tile", [128, columns])
        column = builder.sbuf("column", [128, 1])
        builder.dma_copy(tile, x[i])
        builder.tensor_reduce(column, tile, "max")
        builder.reciprocal(column, column)
        builder.tensor_scalar(tile, tile, "multiply", column)
        builder.dma_copy(out[i], tile)

    builder.loop(8, body)
    return builder.finish()


@pytest.mark.parametrize(("columns", "gives_way"), [(512, False), (8192, True)])
def test_passes_that_keep_more_than_the_chip_holds_give_way_and_are_named(columns, gives_way):
    settings = _core.published_stacks()["neuronx-cc trn2"]["settings"]
    program = _normalised(columns)
    compiled, gave_way = _core.compile_with_report(program, settings)
    assert ("batch_narrow_operations" in gave_way) == gives_way
    assert all(settings[name] for name in gave_way)
    x = np.random.default_rng(0).normal(size=(8, 128, columns)).astype(np.float32)
    results = [np.zeros_like(x) for _ in range(2)]
    program.run([x, results[0]])
    compiled.run([x, results[1]])
    assert np.array_equal(*results)
