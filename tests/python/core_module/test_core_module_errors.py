"""neuron_sim._core: what it refuses, with which exception and which sentence."""

import numpy as np
import pytest
from neuron_sim import _core

SHAPES = {
    "vector_add": [[300], [300]], "matmul": [[70, 50], [50, 90]], "transpose": [[70, 50]],
    "bias_add_activation": [[7, 50], [50]], "rms_norm": [[7, 50], [50]],
    "conv2d_maxpool": [[1, 3, 8, 8], [4, 3, 3, 3], [4]],
    "ffnn_forward": [[5, 8], [8, 6], [6, 4], [6], [4]],
    "ffnn_predict": [[5, 8], [8, 6], [6, 4], [6], [4]],
    "bias_add_activation_backward": [[7, 50], [7, 50], [50]],
    "conv2d_input_gradient": [[1, 4, 6, 6], [4, 3, 3, 3], [1, 3, 8, 8]],
    "conv2d_weight_gradient": [[1, 4, 6, 6], [1, 3, 8, 8], [4, 3, 3, 3]],
    "maxpool_activation_backward": [[1, 4, 6, 6], [1, 4, 6, 6]],
}  # fmt: skip


# Errors


def message_of(error: type[Exception], *arguments, **options) -> str:
    """The sentence of the error, which both functions must raise alike."""
    messages = set()
    for function in (_core.time_kernel, _core.build_kernel):
        with pytest.raises(error) as caught:
            function(*arguments, **options)
        assert type(caught.value) is error
        messages.add(str(caught.value))
    assert len(messages) == 1
    return messages.pop()


def test_an_unknown_kernel_is_named_with_those_that_exist():
    assert message_of(ValueError, "softmax", [[3]]) == (
        f"kernel 'softmax' is unknown; allowed: {', '.join(_core.kernels())}."
    )


def test_an_unknown_dtype_is_named_with_those_that_exist():
    sentence = message_of(ValueError, "matmul", SHAPES["matmul"], "float64")
    assert sentence.startswith("dtype 'float64' is unknown; allowed: bool_, int8, ")
    with pytest.raises(ValueError) as caught:
        _core.rounded(np.zeros(1, np.float32), "float64")
    assert str(caught.value) == sentence


def test_an_unknown_architecture_is_named_with_those_that_exist():
    sentence = message_of(ValueError, "matmul", SHAPES["matmul"], "float32", "trn9")
    assert sentence.startswith("architecture 'trn9' is unknown; allowed: inf2, trn1, trn2, trn3, ")
    with pytest.raises(ValueError) as caught:
        _core.architecture_facts("trn9")
    assert str(caught.value) == sentence


def test_a_file_that_does_not_exist_is_named(tmp_path):
    path = str(tmp_path / "none.toml")
    sentence = message_of(ValueError, "matmul", SHAPES["matmul"], "float32", path)
    assert "none.toml" in sentence and "cannot be read" in sentence


@pytest.mark.parametrize("kernel, known", [
    ("vector_add", "its options: variant, row_chunk, free_dim, num_free_tiles, base_addresses"),
    ("matmul", "its options: variant, transpose_x"),
    ("transpose", "its options: engine"),
    ("bias_add_activation", "its options: activation"),
    ("rms_norm", "its options: eps"),
    ("conv2d_maxpool",
        "its options: pool_size, pool_stride, stride, padding, dilation, groups, activation"),
    ("ffnn_forward", "its options: hidden_activation, output_activation"),
    ("ffnn_predict", "its options: hidden_activation, output_activation"),
    ("bias_add_activation_backward", "its options: activation"),
    ("conv2d_input_gradient", "its options: stride, padding, dilation, groups"),
    ("conv2d_weight_gradient", "its options: stride, padding, dilation, groups"),
    ("maxpool_activation_backward", "its options: pool_size, pool_stride, activation"),
])  # fmt: skip
def test_an_unknown_option_is_named_with_those_that_exist(kernel, known):
    sentence = message_of(ValueError, kernel, SHAPES[kernel], options={"fast": 1})
    assert sentence == f"kernel '{kernel}' has no option 'fast'; {known}."


@pytest.mark.parametrize("value", ["x", "", " 3", "3.0", "0x3", "9" * 30])
def test_an_option_that_is_not_a_whole_number_is_refused(value):
    sentence = message_of(
        ValueError, "vector_add", SHAPES["vector_add"], options={"row_chunk": value}
    )
    assert sentence == (
        f"kernel 'vector_add': option 'row_chunk' is '{value}', not a whole number."
    )


@pytest.mark.parametrize("value", ["x", "", " 1", "1e", "nan", "inf"])
def test_an_option_that_is_not_a_number_is_refused(value):
    _core.time_kernel("rms_norm", SHAPES["rms_norm"], options={"eps": "1e-5"})
    sentence = message_of(ValueError, "rms_norm", SHAPES["rms_norm"], options={"eps": value})
    assert sentence == f"kernel 'rms_norm': option 'eps' is '{value}', not a number."


def test_an_option_must_be_of_the_right_type():
    shapes = SHAPES["vector_add"]
    assert message_of(TypeError, "vector_add", shapes, options={"row_chunk": 2.0}) == (
        "options: 'row_chunk' is 2.0, not an int or a str."
    )
    assert message_of(TypeError, "vector_add", shapes, options={"row_chunk": True}) == (
        "options: 'row_chunk' is True, not an int or a str."
    )
    assert message_of(TypeError, "vector_add", shapes, options={3: 1}) == (
        "options: a name is not a str."
    )


def test_options_and_sizes_end_at_two_to_the_forty():
    most = 2**40
    _core.time_kernel("vector_add", [[3], [3]], options={"row_chunk": most})
    for value in (most + 1, -most - 1):
        sentence = message_of(ValueError, "vector_add", [[3], [3]], options={"row_chunk": value})
        assert sentence.endswith(f"is {value}, beyond the limit of {most}.")
    shape = [2**20, 2**20 + 1]
    sentence = message_of(ValueError, "vector_add", [shape, shape])
    assert sentence.endswith(f"has more than {most} elements.")


@pytest.mark.parametrize("error, kernel, shapes, dtype, options, parts", [
    (ValueError, "vector_add", [[3]], "float32", {}, ["has 2 inputs, not 1"]),
    (ValueError, "matmul", [[3, 3]] * 3, "float32", {}, ["has 2 inputs, not 3"]),
    (ValueError, "transpose", [], "float32", {}, ["has 1 inputs, not 0"]),
    (ValueError, "ffnn_forward", [[3, 4], [4, 4]], "float32", {}, ["ffnn", "not 2 tensors"]),
    (ValueError, "vector_add", [[-3], [-3]], "float32", {}, ["size -3", "negative"]),
    (ValueError, "transpose", [[0, 4]], "float32", {}, ["nothing to compute"]),
    (TypeError, "vector_add", [[3], [3]], "bool_", {}, ["a [3] bool_", "int32"]),
    (TypeError, "matmul", [[3, 3], [3, 3]], "int8", {}, ["a [3, 3] int8", "float16"]),
    (ValueError, "vector_add", [[3], [3]], "int8", {"variant": "fast"}, ["'fast'", "tiled"]),
    (ValueError, "vector_add", [[3], [3]], "int8", {"base_addresses": "0,x"}, ["'0,x', not whole"]),
    (ValueError, "matmul", [[3, 3]] * 2, "float32", {"variant": "fast"}, ["'fast'", "tiled"]),
    (ValueError, "transpose", [[3, 3]], "float32", {"engine": "pool"}, ["'pool'", "dma"]),
    (ValueError, "vector_add", [[129], [129]], "float32", {"variant": "naive"},
        ["number of partitions 129 exceed architecture limitation of 128", "trn2"]),
    (ValueError, "conv2d_maxpool", SHAPES["conv2d_maxpool"], "float32", {"stride": "1,x"},
        ["option 'stride' is '1,x', not a whole number or two with a comma"]),
    (MemoryError, "vector_add", [[30000], [30000]], "float32",
        {"variant": "direct", "free_dim": 30000},
        ["direct allocation of 'a_tile'", "bytes per partition", "trn2"]),
])  # fmt: skip
def test_what_a_kernel_refuses_names_operand_and_limit(
    error, kernel, shapes, dtype, options, parts
):
    sentence = message_of(error, kernel, shapes, dtype, "trn2", options)
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize("shapes", [[[3.5], [3]], [3, 3], "text", None, [["a"], ["b"]]])
def test_shapes_must_be_lists_of_integers(shapes):
    with pytest.raises(TypeError, match="time_kernel"):
        _core.time_kernel("vector_add", shapes)
