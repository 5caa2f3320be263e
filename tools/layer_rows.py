"""Rows of docs/kernels.md for layers, networks and their gradients; see kernel_rows.py."""

from __future__ import annotations

from kernel_rows import Row

_IMAGES = [[4, 128, 224, 224], [128, 128, 3, 3], [128]]
_FFNN = [[2048, 4096], [4096, 8192], [8192, 2048], [8192], [2048]]

BIAS_ADD_ACTIVATION = [
    Row(
        "bias_add_activation",
        "gelu",
        [[4096, 1024], [1024]],
        "Vector adds the bias, Scalar applies the function, loads and stores run on queues of "
        "their own: all four overlap.",
        options={"activation": "gelu"},
    ),
    Row(
        "bias_add_activation",
        "softmax",
        [[4096, 1024], [1024]],
        "Rows in one piece: Vector adds the bias and finds the maximum, Scalar takes the "
        "exponential and its sum in one instruction and scales in another.",
        options={"activation": "softmax"},
    ),
    Row(
        "bias_add_activation",
        "softmax of long rows",
        [[1024, 40000], [40000]],
        "A row does not fit SBUF: a first pass over chunks keeps a running maximum and sum, a "
        "second one computes the result. x is read and the bias added twice.",
        options={"activation": "softmax"},
    ),
]

CONV2D_MAXPOOL = [
    Row(
        "conv2d_maxpool",
        variant,
        _IMAGES,
        why,
        dtype,
        {"pool_size": pool},
    )
    for variant, dtype, pool, why in [
        (
            "3 x 3, fp16",
            "float16",
            1,
            "Nine products of shifted views of the image accumulate in PSUM, the weights stay in "
            "SBUF: TensorE multiplies while the next rows arrive and finished ones leave.",
        ),
        (
            "3 x 3, fp16, pool 2",
            "float16",
            2,
            "The same products; Vector takes maxima on the way out of PSUM, so that a quarter of "
            "the bytes is stored.",
        ),
        (
            "3 x 3, fp32",
            "float32",
            1,
            "Four passes of TensorE per column instead of one: it is the only unit that counts.",
        ),
    ]
]

CONV2D_MAXPOOL += [
    Row("conv2d_maxpool", variant, shapes, why, dtype, options)
    for variant, dtype, shapes, options, why in [
        (
            "3 x 3, 32 x 16, fp16",
            "float16",
            [[16, 128, 32, 16], [128, 128, 3, 3], [128]],
            {"pool_size": 1},
            "Small images: several of them share a bank of PSUM, so that every product has 512 "
            "columns; the first image and the last store are what is not overlapped.",
        ),
        (
            "3 x 3, 32 x 16, fp32",
            "float32",
            [[16, 128, 32, 16], [128, 128, 3, 3], [128]],
            {"pool_size": 1},
            "The same with four passes per column.",
        ),
        (
            "5 x 5, stride 2, padding 2, bf16",
            "bfloat16",
            [[4, 128, 112, 112], [128, 128, 5, 5], [128]],
            {"pool_size": 1, "stride": 2, "padding": 2},
            "TensorE reads every other column of the image tile: a quarter of the products of "
            "stride 1. Padding is a border of zeros in the tile.",
        ),
        (
            "3 x 3, dilation 2, bf16",
            "bfloat16",
            [[4, 128, 112, 112], [128, 128, 3, 3], [128]],
            {"pool_size": 1, "dilation": 2},
            "The views are two rows and columns apart; the products are those of a dense kernel.",
        ),
        (
            "depthwise 3 x 3, bf16",
            "bfloat16",
            [[1, 128, 112, 112], [128, 1, 3, 3], [128]],
            {"pool_size": 1, "padding": 1, "groups": 128},
            "All groups share the array through weights that are zero between groups: the time is "
            "that of a dense convolution, and of its products one in 128 is not with a zero.",
        ),
        (
            "3 x 3, overlapping pool 3 / 2, bf16",
            "bfloat16",
            [[4, 128, 112, 112], [128, 128, 3, 3], [128]],
            {"pool_size": 3, "pool_stride": 2},
            "Bands compute the rows that two bands' windows share twice; Vector takes nine maxima "
            "per window.",
        ),
    ]
]

FFNN = [
    Row(
        "ffnn_forward",
        "fp32",
        _FFNN,
        "The course's network in one program: hidden activations stay in SBUF, transposed, so "
        "that a layer's result is the next one's operand; bias and function cost one Scalar "
        "instruction on the way out of PSUM. TensorE's fp32 passes are the time on trn2 and "
        "trn3. On trn1 it cannot load weights while it multiplies, and a batch that fits SBUF is "
        "too short to make up for each load.",
    ),
    Row(
        "ffnn_predict",
        "fp32",
        _FFNN,
        "ffnn_forward, and Vector finds the index of the largest probability; only the indices "
        "are stored.",
    ),
    Row(
        "ffnn_predict",
        "bf16",
        _FFNN,
        "A quarter of the passes: now the weights, which stream by once for every tile of the "
        "batch in runs of 256 bytes, take about as long as the products.",
        "bfloat16",
    ),
]

BACKWARD = [
    Row(
        "bias_add_activation_backward",
        "gelu",
        [[4096, 1024], [4096, 1024], [1024]],
        "The bias is added again and the derivative of gelu, a chain of Vector and Scalar "
        "instructions, computed in fp32; a product with a column of ones on TensorE adds up the "
        "rows for the bias beside them.",
        options={"activation": "gelu"},
    ),
    Row(
        "conv2d_input_gradient",
        "3 x 3, fp16",
        [[4, 128, 222, 222], [128, 128, 3, 3], [4, 128, 224, 224]],
        "The forward pass turned round: for each phase of the stride a dense convolution of the "
        "gradient with the taps that meet it, so that no inserted zero is multiplied. Weights "
        "stay in SBUF, bands of the gradient stream by.",
        "float16",
    ),
    Row(
        "conv2d_weight_gradient",
        "3 x 3, fp16",
        [[4, 128, 222, 222], [4, 128, 224, 224], [128, 128, 3, 3]],
        "The products contract over pixels, which belong on partitions: gradient and input are "
        "transposed on chip, and the copies of those blocks out of PSUM by Vector and Scalar "
        "compete with the products for time.",
        "float16",
    ),
    Row(
        "maxpool_activation_backward",
        "pool 2, relu",
        [[4, 128, 111, 111], [4, 128, 222, 222]],
        "No products: the activation and the place of the maximum of each window are computed "
        "again, and the gradient goes there, in several Vector instructions for every element.",
        options={"pool_size": 2, "activation": "relu"},
    ),
]

ROWS: list[Row] = [*BIAS_ADD_ACTIVATION, *CONV2D_MAXPOOL, *FFNN, *BACKWARD]
