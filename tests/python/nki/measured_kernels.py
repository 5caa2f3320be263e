"""Kernels for the tests of measurements, built without a front end."""

from neuron_sim import _core


class TracedKernel:
    """What a traced kernel looks like to the measurements."""

    def __init__(self, program):
        self.program = program

    def time(self):
        return self.program.time()


def doubled(kernel="doubled", architecture="trn2", columns=512):
    """x [128, columns] times 2, in two tiles of half the columns."""
    builder = _core.Builder(kernel, architecture)
    x = builder.argument("x", [2, 128, columns // 2])
    y = builder.argument("y", [2, 128, columns // 2])

    def half(i):
        tile = builder.sbuf("tile", [128, columns // 2])
        builder.dma_copy(tile, x[i])
        builder.tensor_scalar(tile, tile, "multiply", 2.0)
        builder.dma_copy(y[i], tile)

    builder.loop(2, half)
    return TracedKernel(builder.finish())


def product(architecture="trn2", loops=3):
    """[128, 64]^T x [128, 256] a few times, and one transpose of [128, 64]."""
    builder = _core.Builder("product", architecture)
    x = builder.argument("x", [128, 64], "bfloat16")
    y = builder.argument("y", [128, 256], "bfloat16")
    z = builder.argument("z", [64, 256])
    left = builder.sbuf("left", [128, 64], "bfloat16")
    right = builder.sbuf("right", [128, 256], "bfloat16")
    result = builder.sbuf("result", [64, 256])
    builder.dma_copy(left, x)
    builder.dma_copy(right, y)

    def multiply(i):
        total = builder.psum("total", [64, 256])
        builder.nc_matmul(total, left, right)
        builder.tensor_copy(result, total)

    builder.loop(loops, multiply)
    # Without exact transposes a tile is turned by a product: into fp32.
    exact = _core.architecture_facts(architecture)["features.exact_transpose"]["value"]
    turned = builder.psum("turned", [64, 128], "bfloat16" if exact else "float32")
    builder.nc_transpose(turned, left, engine="tensor")
    builder.dma_copy(z, result)
    return TracedKernel(builder.finish())
