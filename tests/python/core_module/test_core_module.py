"""neuron_sim._core, the module without torch: facts, rounding, architectures of the user."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from neuron_sim import _core

ARCHITECTURES = ["inf2", "trn1", "trn2", "trn3"]
CERTAINTIES = {"documented", "measured", "fitted", "assumed", "derived"}
# float8_e4m3 of ml_dtypes has infinities, as the chip's; the x4 dtypes are rounded value by value.
FLOATS = {
    "float8_e4m3": ml_dtypes.float8_e4m3, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu, "float8_e5m2_x4": ml_dtypes.float8_e5m2,
    "float8_e4m3fn_x4": ml_dtypes.float8_e4m3fn, "float4_e2m1fn_x4": ml_dtypes.float4_e2m1fn,
    "float8_e5m2": ml_dtypes.float8_e5m2, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
}  # fmt: skip
INTEGERS = ["int8", "int16", "int32", "uint8", "uint16", "uint32"]


# Facts


def check_in_new_process(program: str) -> None:
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_importing_the_module_does_not_import_torch():
    check_in_new_process(
        "import sys, neuron_sim._core as core\n"
        "core.time_kernel('vector_add', [[3], [3]])\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'torch']"
    )


def test_the_architectures_are_the_three_generations():
    assert _core.architectures() == ARCHITECTURES


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_fact_has_a_number_a_unit_a_source_and_a_certainty(architecture):
    facts = _core.architecture_facts(architecture)
    assert facts["limits.partitions"]["value"] == 128
    for key, fact in facts.items():
        assert set(fact) == {"value", "unit", "source", "certainty"}, key
        assert np.isfinite(fact["value"]) and fact["unit"] and fact["source"], key
        assert fact["certainty"] in CERTAINTIES, key


@pytest.mark.parametrize("architecture, alias", [("trn1", "gen2"), ("trn2", "gen3")])
def test_an_alias_has_the_facts_of_its_architecture(architecture, alias):
    assert _core.architecture_facts(alias) == _core.architecture_facts(architecture)
    assert _core.without_alias(alias) == architecture == _core.without_alias(architecture)


def test_the_environment_names_the_architecture_by_our_variable_before_the_vendors(monkeypatch):
    monkeypatch.delenv("NEURON_SIM_ARCH", raising=False)
    monkeypatch.delenv("NEURON_PLATFORM_TARGET_OVERRIDE", raising=False)
    assert _core.environment_architecture() == ""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "gen4")
    assert _core.environment_architecture() == "gen4"
    monkeypatch.setenv("NEURON_SIM_ARCH", "mine.toml")
    assert _core.environment_architecture() == "mine.toml"
    assert _core.DEFAULT_ARCHITECTURE in _core.architectures()


def test_the_generations_differ_where_the_documents_say_so():
    facts = {name: _core.architecture_facts(name) for name in ARCHITECTURES}
    assert [facts[name]["limits.cores"]["value"] for name in ARCHITECTURES] == [2, 2, 8, 8]
    assert facts["trn1"]["features.exact_transpose"]["value"] == 0
    assert facts["trn2"]["features.exact_transpose"]["value"] == 1


def test_instructions_are_named_once_each():
    names = _core.instructions()
    assert len(names) == len(set(names))
    assert {"dma_copy", "nc_matmul", "activation", "max8"} <= set(names)


def test_the_kernels_of_the_ops_are_named_in_order():
    names = _core.kernels()
    assert names == sorted(set(names))
    assert {"vector_add", "conv2d_input_gradient", "ffnn_predict"} <= set(names)


# Rounding


def interesting_values(dtype: str) -> np.ndarray:
    """All values of 16 bits and fewer, the midpoints between neighbours, both sides of each, and
    random bit patterns of fp32, which hold NaN, infinities and subnormal numbers."""
    random = np.random.default_rng(5).integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4028235e38, 1.1754944e-38], dtype=np.float32
    )
    parts = [random, special]
    numpy_dtype = np.dtype(FLOATS.get(dtype, np.float16))
    if numpy_dtype.itemsize <= 2:
        patterns = np.arange(2 ** (8 * numpy_dtype.itemsize), dtype=np.uint32)
        values = patterns.astype(f"u{numpy_dtype.itemsize}").view(numpy_dtype)
        with np.errstate(invalid="ignore"):  # signalling NaN
            values = values.astype(np.float64)
        values = np.unique(values[np.isfinite(values)])
        middles = ((values[:-1] + values[1:]) / 2).astype(np.float32)
        # Past the largest value, the tie to infinity.
        middles = np.append(middles, np.float32(values[-1] + (values[-1] - values[-2]) / 2))
        up = np.nextafter(middles, np.float32(np.inf))
        down = np.nextafter(middles, np.float32(-np.inf))
        parts += [values.astype(np.float32), middles, -middles, up, down, -up, -down]
    return np.concatenate(parts)


def assert_same(ours: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits; NaN only has to be NaN."""
    assert ours.dtype == expected.dtype == np.float32 and ours.shape == expected.shape
    assert np.array_equal(np.isnan(ours), np.isnan(expected))
    numbers = ~np.isnan(ours)
    different = ours[numbers].view(np.uint32) != expected[numbers].view(np.uint32)
    assert not different.any(), (ours[numbers][different][:5], expected[numbers][different][:5])


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_round_as_in_ml_dtypes(dtype):
    values = interesting_values(dtype)
    if dtype == "float4_e2m1fn_x4":  # there is no NaN to round to
        values = values[~np.isnan(values)]
    if (
        dtype == "float8_e8m0fnu"
    ):  # ml_dtypes rounds all between 2^-127 and 2^-126 up, not to nearest
        values = values[(values <= 0) | (values >= np.float32(2**-126)) | np.isnan(values)]
    with np.errstate(all="ignore"):
        expected = values.astype(FLOATS[dtype]).astype(np.float32)
    assert_same(_core.rounded(values, dtype), expected)


def test_tfloat32_rounds_to_ten_mantissa_bits_to_nearest_even():
    values = interesting_values("tfloat32")
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(values.astype(np.float64))
        # In fp32 subnormal numbers have fixed places, those of the smallest normal exponent.
        exponent = np.maximum(exponent, -125)
        mantissa = np.ldexp(values.astype(np.float64), -exponent)
        expected = np.ldexp(np.rint(mantissa * 2**11), exponent - 11).astype(np.float32)
    expected = np.where(np.isfinite(values), expected, values)
    assert_same(_core.rounded(values, "tfloat32"), expected)


@pytest.mark.parametrize("dtype, value, result", [
    ("float8_e4m3", 240.0, 240.0), ("float8_e4m3", 247.99998, 240.0),
    ("float8_e4m3", 248.0, np.inf), ("float8_e4m3", 2.0**-10, 0.0),
    ("float8_e4m3", -(2.0**-9), -(2.0**-9)), ("float8_e4m3fn", 464.0, 448.0),
    ("float8_e4m3fn", 464.1, np.nan), ("float4_e2m1fn_x4", 2.5, 2.0),
    ("float4_e2m1fn_x4", 1e9, 6.0), ("float8_e5m2", 57344.0, 57344.0),
    ("float8_e5m2", 61440.0, np.inf), ("float16", 65519.996, 65504.0), ("float16", 65520.0, np.inf),
    ("bfloat16", 1.00390625, 1.0), ("bfloat16", 1.01171875, 1.015625),
    ("tfloat32", 1.00048828125, 1.0), ("tfloat32", 1.00146484375, 1.001953125),
])  # fmt: skip
def test_limits_and_ties_round_as_written(dtype, value, result):
    both = np.array([value, -value], dtype=np.float32)
    assert_same(_core.rounded(both, dtype), np.array([result, -result], dtype=np.float32))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_round_to_even_and_saturate(dtype):
    limits = np.iinfo(dtype)
    values = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, 100.49, np.inf, -np.inf, np.nan, 1e20, -1e20]
        + [limits.max, limits.max + 1.0, limits.min, limits.min - 1.0],
        dtype=np.float32,
    )
    numbers = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30)
    expected = np.clip(np.rint(numbers), limits.min, limits.max).astype(np.float32)
    assert np.array_equal(_core.rounded(values, dtype), expected)


@pytest.mark.parametrize("name", ["bool_", "bool"])
def test_bool_is_one_for_all_but_zero(name):
    values = np.array([0.0, -0.0, 1e-45, -3.0, np.nan, np.inf], dtype=np.float32)
    assert _core.rounded(values, name).tolist() == [0, 0, 1, 1, 1, 1]


def test_an_empty_array_stays_empty_and_the_argument_is_not_changed():
    assert _core.rounded(np.zeros(0, np.float32), "bfloat16").shape == (0,)
    values = np.array([1.001], dtype=np.float32)
    rounded = _core.rounded(values, "bfloat16")
    rounded[0] = 7
    assert values[0] == np.float32(1.001)


def test_other_arrays_become_fp32_first():
    assert _core.rounded(np.array([1.001, 2]), "bfloat16").tolist() == [1.0, 2.0]
    every_second = np.arange(8, dtype=np.float32)[::2]
    assert _core.rounded(every_second, "float32").tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("values", [np.zeros((2, 2), np.float32), "text", None, [1.0]])
def test_what_is_not_a_vector_is_refused(values):
    with pytest.raises(TypeError, match="rounded"):
        _core.rounded(values, "float32")


# Architectures of the user


def test_a_toml_file_with_a_base_changes_the_time(tmp_path):
    path = tmp_path / "slow.toml"
    path.write_text(
        'base = "trn2"\n[clocks]\n'
        'vector = { value = 0.096, unit = "GHz", source = "a test", certainty = "assumed" }\n'
    )
    facts = _core.architecture_facts(str(path))
    changed = {"value": 0.096, "unit": "GHz", "source": "a test", "certainty": "assumed"}
    assert facts == {**_core.architecture_facts("trn2"), "clocks.vector": changed}
    shapes = [[256000], [256000]]
    slow = _core.time_kernel("vector_add", shapes, architecture=str(path))
    fast = _core.time_kernel("vector_add", shapes, architecture="trn2")
    assert slow["body_us"] > fast["body_us"]
    assert slow["bottleneck"] == "Vector" and slow["dma_bytes"] == fast["dma_bytes"]
    listing = _core.build_kernel("vector_add", shapes, architecture=str(path)).listing()
    assert listing.startswith("kernel vector_add for slow\n")


def test_limits_of_a_toml_file_are_the_limits_of_its_kernels(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        'base = "trn2"\n[limits]\n'
        'max8_maximum_elements = { value = 16, unit = "1", source = "a test", '
        'certainty = "assumed" }\n'
    )
    shapes = [[4, 4], [4, 17], [17]]
    _core.time_kernel("ffnn_predict", shapes)
    with pytest.raises(ValueError, match=r"exceed architecture limitation of 16 .* on small\.$"):
        _core.time_kernel("ffnn_predict", shapes, architecture=str(path))


@pytest.mark.parametrize("content, parts", [
    ('base = "trn9"\n', ["architecture 'trn9' is unknown"]),
    ('base = "trn2"\nbananas = 3\n', ["key 'bananas'", "is unknown"]),
    ("base = \n", ["line 1", "is not valid TOML"]),
    ('base = "mine.toml"\n', ["key 'base'", "leads back to itself"]),
    ("", ["is missing, and no base has it"]),
])  # fmt: skip
def test_a_wrong_toml_file_is_refused_with_its_name(tmp_path, content, parts):
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(ValueError) as caught:
        _core.architecture_facts(str(path))
    for part in parts:
        assert part in str(caught.value)
