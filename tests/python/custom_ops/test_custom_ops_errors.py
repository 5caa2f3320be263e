"""What the custom ops refuse: one sentence each, the same on device, CPU and meta tensors."""

import pytest
import torch
from custom_ops_oracle import OPS
from device_type import DEVICE_TYPE

PLACES = [f"{DEVICE_TYPE}:1", "cpu", "meta"]
SAME = "Expected all tensors to be on the same device, but found at least two devices, "
FLOAT = "has a dtype other than float32, float16 and bfloat16."


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


def network(*layers, x=(2, 3), **options):
    """Calls ffnn_forward with weights and biases of these shapes."""
    return OPS.ffnn_forward, (zeros(*x), [zeros(*w) for w, _ in layers],
                              [zeros(*b) for _, b in layers]), options  # fmt: skip


def convolution(input_shape=(1, 2, 8, 8), weight=(4, 2, 3, 3), bias=(4,), pool=2, **options):
    arguments = (zeros(*input_shape), zeros(*weight), zeros(*bias), pool)
    return OPS.conv2d_maxpool, arguments, options


# (operator, arguments, keyword arguments), class, sentence
REFUSED = {
    "add shapes": ((OPS.vector_add, (zeros(2, 3), zeros(4)), {}), ValueError,
        "vector_add: a [2, 3] float32 and b [4] float32 cannot be broadcast: dimension 1 of the "
        "result is 3 in a and 4 in b."),
    "add dtypes": ((OPS.vector_add, (zeros(3), zeros(3, dtype=torch.float16)), {}), TypeError,
        "vector_add: a [3] float32 and b [3] float16 have different dtypes."),
    "add int64": ((OPS.vector_add, (zeros(3, dtype=torch.int64), zeros(3, dtype=torch.int64)), {}),
        TypeError,
        "vector_add: a [3] Long has a dtype other than float32, float16, bfloat16, int32, int16, "
        "int8 and uint8."),
    "add variant": ((OPS.vector_add, (zeros(3), zeros(3)), {"variant": "fast"}), ValueError,
        "vector_add: variant 'fast' is unknown; the variants are naive, tiled, stream, direct "
        "and direct_bad."),
    "add num_free_tiles": (
        (OPS.vector_add, (zeros(3), zeros(3)), {"variant": "direct", "num_free_tiles": 0}),
        ValueError, "vector_add: num_free_tiles 0 must be at least 1."),
    "add row_chunk": ((OPS.vector_add, (zeros(3), zeros(3)), {"variant": "tiled", "row_chunk": 0}),
        ValueError, "vector_add: row_chunk 0 must be at least 1."),
    "add free_dim": ((OPS.vector_add, (zeros(3), zeros(3)), {"free_dim": -1}), ValueError,
        "vector_add: free_dim -1 must be at least 0."),
    "matmul rank": ((OPS.matmul, (zeros(2, 3, 4), zeros(4, 5)), {}), ValueError,
        "matmul: a [2, 3, 4] float32 has 3 dimensions, expected 2."),
    "matmul sizes": ((OPS.matmul, (zeros(2, 3), zeros(4, 5)), {}), ValueError,
        "matmul: dimension 0 of b [4, 5] float32 is 4, expected 3 (the columns of a)."),
    "matmul sizes with transpose_x": (
        (OPS.matmul, (zeros(2, 3), zeros(4, 5)), {"transpose_x": True}), ValueError,
        "matmul: dimension 0 of b [4, 5] float32 is 4, expected 2 (the rows of a, with "
        "transpose_x)."),
    "matmul variant": ((OPS.matmul, (zeros(2, 3), zeros(3, 5)), {"variant": "fast"}), ValueError,
        "matmul: variant 'fast' is unknown; the variants are auto, tiled, hoist_load, "
        "block_free_dimension and fully_optimized."),
    "transpose engine": ((OPS.transpose, (zeros(2, 3),), {"engine": "pool"}), ValueError,
        "transpose: engine 'pool' is unknown; the engines are auto, tensor, vector and dma."),
    "matmul dtype": (
        (OPS.matmul, (zeros(2, 3, dtype=torch.int32), zeros(3, 5, dtype=torch.int32)), {}),
        TypeError, f"matmul: a [2, 3] int32 {FLOAT}"),
    "transpose rank": ((OPS.transpose, (zeros(3),), {}), ValueError,
        "transpose: a [3] float32 has 1 dimensions, expected 2."),
    "transpose float64": ((OPS.transpose, (zeros(2, 3, dtype=torch.float64),), {}), TypeError,
        "a NeuronCore has no dtype Double; it has bool, 8-, 16- and 32-bit integers, "
        "float8_e5m2, float16, bfloat16, float32"),
    "bias rank": ((OPS.bias_add_activation, (zeros(2, 3), zeros(1, 3), "relu"), {}), ValueError,
        "bias_add_activation: bias [1, 3] float32 has 2 dimensions, expected 1."),
    "bias size": ((OPS.bias_add_activation, (zeros(2, 3), zeros(4), "relu"), {}), ValueError,
        "bias_add_activation: dimension 0 of bias [4] float32 is 4, expected 3 (the last "
        "dimension of x)."),
    "bias scalar": ((OPS.bias_add_activation, (zeros(), zeros(1), "relu"), {}), ValueError,
        "bias_add_activation: x [] float32 has no last dimension."),
    "norm weight": ((OPS.rms_norm, (zeros(2, 3), zeros(4)), {}), ValueError,
        "rms_norm: dimension 0 of weight [4] float32 is 4, expected 3 (the last dimension of x)."),
    "norm weight rank": ((OPS.rms_norm, (zeros(2, 3), zeros(2, 3)), {}), ValueError,
        "rms_norm: weight [2, 3] float32 has 2 dimensions, expected 1."),
    "norm scalar": ((OPS.rms_norm, (zeros(), zeros(1)), {}), ValueError,
        "rms_norm: x [] float32 has no last dimension."),
    "norm dtype": ((OPS.rms_norm, (zeros(3, dtype=torch.int32), zeros(3, dtype=torch.int32)), {}),
        TypeError, f"rms_norm: x [3] int32 {FLOAT}"),
    "pool size": (convolution(pool=0), ValueError,
        "conv2d_maxpool: pool_size 0 must be at least 1."),
    "pool window": (convolution(pool=[6, 7]), ValueError,
        "conv2d_maxpool: the pooling window width of 7 exceeds the convolution output width of 6."),
    "pool stride": (convolution(pool_stride=[1, 0]), ValueError,
        "conv2d_maxpool: pool_stride 0 must be at least 1."),
    "dilation": (convolution(dilation=0), ValueError,
        "conv2d_maxpool: dilation 0 must be at least 1."),
    "groups": (convolution(groups=0), ValueError, "conv2d_maxpool: groups 0 must be at least 1."),
    "stride": (convolution(stride=[1, 0]), ValueError,
        "conv2d_maxpool: stride 0 must be at least 1."),
    "padding": (convolution(padding=-1), ValueError,
        "conv2d_maxpool: padding -1 must be at least 0."),
    "huge padding": (convolution(padding=2**62), ValueError,
        "conv2d_maxpool: padding 4611686018427387904 must be at most 2147483648."),
    "channels": (convolution(weight=(4, 3, 3, 3)), ValueError,
        "conv2d_maxpool: dimension 1 of weight [4, 3, 3, 3] float32 is 3, expected 2 (the "
        "channels of input)."),
    "convolution bias": (convolution(bias=(5,)), ValueError,
        "conv2d_maxpool: dimension 0 of bias [5] float32 is 5, expected 4 (the output channels "
        "of weight)."),
    "large kernel": (convolution(weight=(4, 2, 3, 11), padding=1), ValueError,
        "conv2d_maxpool: the kernel width of 11 exceeds the padded input width of 10 (8 + 2 * 1)."),
    "no channels": (convolution(input_shape=(1, 0, 8, 8), weight=(4, 0, 3, 3)), ValueError,
        "conv2d_maxpool: dimension 1 of weight [4, 0, 3, 3] float32 is 0, expected at least 1."),
    "convolution softmax": (convolution(activation="softmax"), ValueError,
        "conv2d_maxpool: activation 'softmax' is not pointwise; it needs a whole row."),
    "no layers": (network(), ValueError,
        "ffnn_forward: 0 weights and 0 biases; there must be as many biases as weights, and at "
        "least one."),
    "layer sizes": (network(((3, 4), (4,)), ((5, 2), (2,))), ValueError,
        "ffnn_forward: dimension 0 of weights[1] [5, 2] float32 is 5, expected 4 (the width of "
        "the layer's input)."),
    "layer bias": (network(((3, 4), (5,))), ValueError,
        "ffnn_forward: dimension 0 of biases[0] [5] float32 is 5, expected 4 (the columns of its "
        "weight)."),
    "empty layer": (network(((3, 0), (0,))), ValueError,
        "ffnn_forward: dimension 1 of weights[0] [3, 0] float32 is 0, expected at least 1."),
    "hidden softmax": (network(((3, 4), (4,)), hidden_activation="softmax"), ValueError,
        "ffnn_forward: hidden_activation 'softmax' is not pointwise; it needs a whole row."),
}  # fmt: skip


def on(place, value):
    if isinstance(value, torch.Tensor):
        return value.to(place)
    if isinstance(value, (tuple, list)):
        return type(value)(on(place, element) for element in value)
    return value


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_named_in_one_sentence(case, place):
    (operator, arguments, options), error_class, sentence = REFUSED[case]
    with pytest.raises(error_class) as caught:
        operator(*on(place, arguments), **options)
    assert str(caught.value).splitlines()[0] == sentence
    # Everything still works.
    ones = torch.ones(3, device=f"{DEVICE_TYPE}:1")
    assert OPS.vector_add(ones, ones).tolist() == [2, 2, 2]


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_activation_lists_the_known_ones(place):
    x, bias = zeros(2, 3).to(place), zeros(3).to(place)
    with pytest.raises(ValueError, match="'swish'.*identity.*relu.*gelu.*softmax"):
        OPS.bias_add_activation(x, bias, "swish")


@pytest.mark.parametrize("operator, arguments", [
    (OPS.vector_add, (zeros(3), zeros(3))),
    (OPS.matmul, (zeros(3, 3), zeros(3, 3))),
    (OPS.bias_add_activation, (zeros(3, 3), zeros(3), "relu")),
    (OPS.rms_norm, (zeros(3, 3), zeros(3))),
    (OPS.conv2d_maxpool, (zeros(1, 1, 2, 2), zeros(1, 1, 1, 1), zeros(1), 1)),
    (OPS.ffnn_forward, (zeros(3, 3), [zeros(3, 3)], [zeros(3)])),
    (OPS.ffnn_predict, (zeros(3, 3), [zeros(3, 3)], [zeros(3)])),
], ids=lambda value: value.__name__ if hasattr(value, "__name__") else "")  # fmt: skip
@pytest.mark.parametrize("second", ["cpu", f"{DEVICE_TYPE}:0"])
def test_tensors_on_two_devices_are_refused(operator, arguments, second):
    mixed = (arguments[0].to(f"{DEVICE_TYPE}:1"), *on(second, arguments[1:]))
    with pytest.raises(RuntimeError) as caught:
        operator(*mixed)
    sentence = str(caught.value).splitlines()[0]
    assert sentence.startswith(SAME)
    assert f"{DEVICE_TYPE}:1" in sentence and second in sentence
    assert operator._qualified_op_name.split("::")[1] in sentence


def test_a_limit_of_the_device_is_named_with_the_architecture():
    large = torch.zeros(129, device=DEVICE_TYPE)
    with pytest.raises(ValueError, match="129"):
        OPS.vector_add(large, large, variant="naive")
    assert OPS.vector_add(large, large).shape == (129,)


def test_misuse_of_the_schema_is_a_python_error():
    with pytest.raises(RuntimeError, match="positional"):
        OPS.vector_add(zeros(3), zeros(3), "stream")
