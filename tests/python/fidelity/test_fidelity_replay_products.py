"""Matrix products of replayed profiles: weights that stay in the array, results inside a bank."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.fidelity.replay import compare, program, reader
from neuron_sim.fidelity.replay.memory import Memory, OnChip

WINDOW = 4096 / 1.2


@cache
def trace(name):
    return reader.read_trace(reader.TRACES, name)


def loads(of):
    """The loads of weights of a profile that wait for nothing, in the order of the program."""
    rows = [
        row for row in of.instructions if row.opcode == "LDWEIGHTS" and "S[" not in row.operands
    ]
    return sorted(rows, key=lambda row: row.pc)


def without(of, left_out):
    rows = tuple(row for row in of.instructions if row not in left_out)
    return dataclasses.replace(of, instructions=rows)


def test_a_product_without_a_load_uses_the_weights_of_the_one_before():
    original = trace("fused_bf16_s512")
    products = [row for row in loads(original) if "transpose_mode=DISABLED" in row.operands]
    left_out = next(row for row in products if "fp32_mode" not in row.operands)
    full, replay = (
        program.build_replay(original),
        program.build_replay(without(original, [left_out])),
    )
    assert len(full.steps) == len(replay.steps)
    index = next(i for i, step in enumerate(full.steps) if left_out in [r.row for r in step.rows])
    assert [row.opcode for row in replay.steps[index].rows] == ["MATMUL"]
    assert replay.steps[index].load.row.pc < left_out.pc < replay.steps[index].head.row.pc
    kinds = lambda of: [s["unit"] for s in of.program.steps() if s["index"] == index]  # noqa: E731
    assert kinds(full) == ["load_stationary", "multiply_moving"]
    assert kinds(replay) == ["multiply_moving"]
    comparison = compare.compare(replay, window=WINDOW)
    assert comparison.missing == () and comparison.figures.duration_error <= 0.02


def test_products_without_weights_are_refused():
    original = trace("fused_bf16_s512")
    rows = [row for row in original.instructions if row.opcode == "LDWEIGHTS"]
    with pytest.raises(ValueError) as error:
        program.build_replay(without(original, rows))
    assert "has no LDWEIGHTS before it." in str(error.value)
    multiplies = [row for row in original.instructions if row.opcode == "MATMUL"]
    with pytest.raises(ValueError) as error:
        program.build_replay(without(original, multiplies[:1]))
    assert "is not followed by a MATMUL." in str(error.value)
    with pytest.raises(ValueError) as error:
        program.build_replay(without(original, multiplies[-1:]))
    assert "is not followed by a MATMUL." in str(error.value)


def test_half_of_the_weights_of_an_fp32_product_is_not_reused():
    original = trace("fused_fp32_s512")
    high = next(row for row in loads(original) if "fp32_mode=HIGH" in row.operands)
    with pytest.raises(ValueError) as error:
        program.build_replay(without(original, [high]))
    assert "reuses one half of the fp32 weights of 'LDWEIGHTS'" in str(error.value)


def test_results_of_transposes_lie_anywhere_in_a_bank():
    builder = _core.Builder("transposes", "trn2")
    data = builder.argument("data", [2, 128, 128], "bfloat16")
    identity = builder.argument("identity", [128, 128], "bfloat16")
    out = builder.argument("out", [2, 128, 128], "bfloat16")
    tiles = [builder.place("sbuf", f"tile{i}", [128, 128], "bfloat16", 256 * i) for i in range(4)]
    results = [OnChip("psum", 0, low, low + 256, "bfloat16") for low in (2048 + 256, 2048 + 1024)]
    memory = Memory(builder, results, [], 2048)
    builder.dma_copy(tiles[2], identity)
    for i, access in enumerate(results):
        builder.dma_copy(tiles[i], data[i])
        view = memory.view(access, 128)
        assert view.shape == [128, 128]
        builder.nc_matmul(view, tiles[i], tiles[2], is_transpose=True)
    for i, access in enumerate(results):
        builder.tensor_copy(tiles[3], memory.view(access, 128), engine="vector")
        builder.dma_copy(out[i], tiles[3])
    arrays = [np.arange(2 * 128 * 128, dtype=np.uint16).reshape(2, 128, 128) % 0x4000]
    one = np.uint16(0x3F80)
    arrays += [np.eye(128, dtype=np.uint16) * one, np.zeros((2, 128, 128), np.uint16)]
    builder.finish().run(arrays)
    assert np.array_equal(arrays[2], arrays[0].transpose(0, 2, 1))
