"""Every variant and engine of the custom ops against the float64 oracle; what the variants cost."""

import pytest
import torch
from custom_ops_oracle import (
    DEVICES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    OPS,
    activation_range,
    as_seen,
    assert_within,
    laid_out,
    network_bounds,
    product_bounds,
    ulp,
    values,
)
from device_type import DEVICE_TYPE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 10**6)
CASES = settings(
    max_examples=50, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def sizes(largest, least=1):
    """Small sizes, sizes next to the chip's tiles, and others up to `largest`."""
    edges = [n for n in (0, 1, 2, 127, 128, 129, 513) if least <= n <= largest]
    return st.one_of(st.sampled_from(edges), st.integers(least, largest))


def launched(call):
    """The launch records of `call`."""
    with torch.neuron_sim.record_launches() as launches:
        call()
    return launches


# vector_add


def assert_sum(a, b, device, **options):
    out = OPS.vector_add(a.to(device), b.to(device), **options)
    assert out.device == torch.device(device)
    if a.dtype in INTEGERS:
        assert torch.equal(out.cpu(), a + b)
    else:
        exact = a.double() + b.double()
        assert_within(out, exact, exact, a.dtype)


@pytest.mark.parametrize("variant", ["naive", "tiled", "stream", "direct", "direct_bad"])
@CASES
@given(
    st.data(), st.sampled_from(FLOATS + INTEGERS), st.sampled_from([0, 1, 2, 7, 64]),
    st.sampled_from([1, 2, 4, 5]), SEEDS, st.sampled_from(DEVICES[:2]),
)  # fmt: skip
def test_vector_add(variant, data, dtype, free_dim, num_free_tiles, seed, device):
    elements = data.draw(sizes(128 if variant == "naive" else 3000, least=0))
    options = {"variant": variant, "free_dim": free_dim, "num_free_tiles": num_free_tiles}
    options["row_chunk"] = data.draw(st.integers(1, 128))
    a, b = values([elements], dtype, seed), values([elements], dtype, seed + 1)
    assert_sum(a, b, device, **options)


@CASES
@given(
    sizes(5000), st.sampled_from(FLOATS + INTEGERS), st.integers(1, 40), st.integers(1, 6),
    st.permutations([0, 1, 2]), st.lists(st.integers(1, 300), min_size=3, max_size=3), SEEDS,
    st.sampled_from(DEVICES[:2]),
)  # fmt: skip
def test_vector_add_with_tiles_anywhere(
    elements, dtype, free_dim, num_free_tiles, order, gaps, seed, device
):
    """Base addresses a tile or more apart, in any order: rings may overlap, sums are right."""
    address, addresses = 0, [0, 0, 0]
    for place, gap in zip(order, gaps, strict=True):
        addresses[place] = address
        address += max(free_dim, gap) * dtype.itemsize
    a, b = values([elements], dtype, seed), values([elements], dtype, seed + 1)
    assert_sum(
        a, b, device, variant="direct", free_dim=free_dim, num_free_tiles=num_free_tiles,
        base_addresses=addresses,
    )  # fmt: skip


def test_the_launch_report_names_overlapping_tiles_and_what_they_cost():
    a = values([512000], torch.float32, 1).to(DEVICE_TYPE)
    direct, bad = (
        launched(lambda v=v: OPS.vector_add(a, a, variant=v, free_dim=1000))[0]
        for v in ("direct", "direct_bad")
    )
    assert direct.overlapping_tiles == [] and direct.overlap_lost_us == 0
    assert bad.overlapping_tiles == [
        "a_tile and b_tile share bytes [4000, 16000) of sbuf",
        "a_tile and sum_tile share bytes [8000, 16000) of sbuf",
        "b_tile and sum_tile share bytes [8000, 20000) of sbuf",
    ]
    assert bad.overlap_lost_us == pytest.approx(bad.body_us - direct.body_us, abs=1e-6)
    assert bad.overlap_lost_us > 1


def test_the_handouts_base_addresses_are_refused():
    a = torch.zeros(256000, device=DEVICE_TYPE)
    with pytest.raises(ValueError, match="b would overwrite a before it is used; base addresses"):
        OPS.vector_add(a, a, variant="direct", free_dim=1000, base_addresses=[0, 0, 0])


# matmul


@pytest.mark.parametrize(
    "variant", ["auto", "tiled", "hoist_load", "block_free_dimension", "fully_optimized"]
)
@CASES
@given(
    sizes(300, least=0), sizes(1300, least=0), sizes(600, least=0), st.sampled_from(FLOATS),
    st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), st.booleans(), SEEDS,
    st.sampled_from(DEVICES),
)  # fmt: skip
def test_matmul(variant, m, k, n, dtype, layout_a, layout_b, transpose_x, seed, device):
    a = values([k, m] if transpose_x else [m, k], dtype, seed)
    b = values([k, n], dtype, seed + 1)
    out = OPS.matmul(
        laid_out(a, layout_a, device),
        laid_out(b, layout_b, device),
        variant=variant,
        transpose_x=transpose_x,
    )
    a, b = as_seen(a, layout_a), as_seen(b, layout_b)
    exact, error = product_bounds(a.t() if transpose_x else a, b)
    assert_within(out, exact - error, exact + error, dtype)


# transpose


@pytest.mark.parametrize("engine", ["auto", "tensor", "vector", "dma"])
@CASES
@given(
    sizes(700, least=0), sizes(300, least=0), st.sampled_from(FLOATS + INTEGERS + [torch.bool]),
    st.sampled_from(LAYOUTS), SEEDS, st.sampled_from(DEVICES),
)  # fmt: skip
def test_transpose(engine, rows, columns, dtype, layout, seed, device):
    a = values([rows, columns], torch.uint8 if dtype == torch.bool else dtype, seed)
    a = a > 127 if dtype == torch.bool else a
    out = OPS.transpose(laid_out(a, layout, device), engine=engine)
    assert out.is_contiguous() and out.device == torch.device(device)
    assert torch.equal(out.cpu(), as_seen(a, layout).t())


def test_transpose_by_dma_leaves_the_compute_engines_alone():
    a = values([256, 384], torch.float32, 1).to(DEVICE_TYPE)
    launch = launched(lambda: OPS.transpose(a, engine="dma"))[0]
    assert launch.utilisation["Tensor"] == launch.utilisation["Vector"] == 0
    assert launch.utilisation["DMA"] > 0 and launch.dma_bytes == 2 * 256 * 384 * 4


# softmax and networks


@CASES
@given(
    st.lists(st.integers(1, 3), min_size=0, max_size=2),
    st.one_of(st.sampled_from([12033, 12288, 24576, 40001]), st.integers(12000, 30000)),
    st.sampled_from(FLOATS), st.sampled_from(LAYOUTS), SEEDS, st.sampled_from(DEVICES[:2]),
)  # fmt: skip
def test_softmax_of_long_rows(leading, features, dtype, layout, seed, device):
    x, bias = values([*leading, features], dtype, seed), values([features], dtype, seed + 1)
    out = OPS.bias_add_activation(laid_out(x, layout, device), bias.to(device), "softmax")
    sums = as_seen(x, layout).double() + bias.double()
    low, high = activation_range(sums, ulp(sums, torch.float32) / 2, "softmax", device)
    assert_within(out, low, high, dtype)


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@CASES
@given(
    st.data(), st.sampled_from([1, 2, 127, 129, 300]), st.sampled_from(FLOATS),
    st.sampled_from(["identity", "relu", "tanh"]),
    st.sampled_from(["identity", "sigmoid", "softmax"]), SEEDS, st.sampled_from(DEVICES[:2]),
)  # fmt: skip
def test_ffnn_of_any_depth_batch_and_width(depth, data, batch, dtype, hidden, output, seed, device):
    width = st.sampled_from([1, 2, 3, 63, 127, 128, 129, 257])
    widths = data.draw(st.lists(width, min_size=depth + 1, max_size=depth + 1))
    pairs = list(zip(widths[:-1], widths[1:], strict=True))
    x = values([batch, widths[0]], dtype, seed)
    weights = [
        (values(pair, torch.float32, seed + i) / pair[0] ** 0.5).to(dtype)
        for i, pair in enumerate(pairs)
    ]
    biases = [values([pair[1]], dtype, seed + 9 + i) for i, pair in enumerate(pairs)]
    out = OPS.ffnn_forward(
        x.to(device), [weight.to(device) for weight in weights],
        [bias.to(device) for bias in biases], hidden_activation=hidden, output_activation=output,
    )  # fmt: skip
    low, high = network_bounds(x, weights, biases, hidden, output, device)
    assert_within(out, low, high, dtype)
