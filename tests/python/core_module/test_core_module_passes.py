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


def test_settings_and_costs_are_listed_with_what_they_mean():
    settings = _core.pass_settings()
    assert list(settings) == list(_core.published_stacks()["none"]["settings"])
    assert {entry["pass"] for entry in settings.values()} < set(_core.passes())
    assert all(entry["default"] is False for entry in settings.values())
    assert all(entry["meaning"] for entry in settings.values())
    costs = _core.compiler_costs()
    assert len(costs) == 13
    assert costs["same_engine"]["value"] == 120 and costs["same_engine"]["certainty"] == "assumed"
    assert all(cost["source"] and cost["unit"] for cost in costs.values())


def test_a_dump_is_asked_for_by_the_name_of_a_pass(capfd, monkeypatch):
    program = _doubled()
    settings = _core.published_stacks()["neuronx-cc trn2"]["settings"]
    silent = _core.compile_program(program, settings).listing()
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("NEURON_SIM_DUMP", "after:schedule")
    assert _core.compile_program(program, settings).listing() == silent
    assert f"after schedule: {silent}" in capfd.readouterr().err
    monkeypatch.setenv("NEURON_SIM_DUMP", "after:sorting")
    with pytest.raises(ValueError, match="is 'after:sorting'; there are: after:all, after:rename"):
        _core.compile_program(program, settings)


def test_every_stack_names_its_source_and_settings():
    stacks = _core.published_stacks()
    assert stacks["none"]["description"] == "none"
    assert not any(stacks["none"]["settings"].values())
    for name, stack in stacks.items():
        assert stack["source"] and stack["compiler"], name
        assert ("disable_dge" in stack["description"]) == ("disable-dge" in name or "trn1" in name)


def test_a_program_that_cannot_be_unrolled_says_why():
    assert _core.pass_objection(_doubled()) == ""
    assert "more than the 2000000" in _core.pass_objection(_doubled(666_667))
