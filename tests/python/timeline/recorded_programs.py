"""Programs that the tests of views record: few instructions, with loops, queues and products."""

import random

import numpy as np
from neuron_sim import _core
from neuron_sim.timeline.spans import LAUNCH, Span

TYPES = {"f8": "<f8", "u4": "<u4", "i4": "<i4", "u1": "u1"}


def product(loops: int = 6):
    """Loads, products in a loop, copies to SBUF and stores on two queues."""
    builder = _core.Builder("product", "trn2")
    x = builder.argument("x", [128, 512], "bfloat16")
    z = builder.argument("z", [loops, 128, 512])
    right = builder.sbuf("right", [128, 512], "bfloat16")
    builder.source_line("kernels.py:7")
    builder.dma_copy(right, x)

    def body(i):
        total = builder.psum("total", [128, 512])
        result = builder.sbuf("result", [128, 512])
        builder.nc_matmul(total, right[:, :128], right, accumulate=False)
        builder.tensor_copy(result, total)
        builder.dma_copy(z[i], result)

    builder.loop(loops, body)
    return builder.finish()


def chain(seed: int):
    """Random transfers, copies, additions and products over a few tiles."""
    choice = random.Random(seed)
    builder = _core.Builder(f"chain{seed}", choice.choice(["trn1", "trn2", "trn3"]))
    width = choice.choice([1, 7, 64, 512])
    partitions = choice.choice([1, 32, 128])
    x = builder.argument("x", [partitions, width])
    z = builder.argument("z", [partitions, width])
    tiles = [builder.sbuf(f"t{i}", [partitions, width]) for i in range(3)]
    for tile in tiles:
        builder.dma_copy(tile, x)

    def step():
        a, b, c = (choice.choice(tiles) for _ in range(3))
        kind = choice.randrange(4)
        if kind == 0:
            builder.dma_copy(a, x, engine=choice.choice(["scalar", "gpsimd", "sync"]))
        elif kind == 1:
            builder.tensor_copy(a, b)
        elif kind == 2:
            builder.tensor_tensor(a, b, c, "add")
        else:
            builder.activation(a, "exp", b)

    for _ in range(choice.randrange(1, 8)):
        if choice.random() < 0.3:
            builder.loop(choice.randrange(1, 5), lambda _: step())
        else:
            step()
    builder.dma_copy(z, choice.choice(tiles))
    return builder.finish()


def two_cores():
    """Each core loads half of x, adds to it some times and stores."""
    builder = _core.Builder("two_cores", "trn2")
    x = builder.argument("x", [2, 128, 300], "bfloat16")
    z = builder.argument("z", [2, 128, 300], "float32")
    for core in range(2):
        builder.open_core(core)
        tile = builder.sbuf("tile", [128, 300], "bfloat16")
        total = builder.sbuf("total", [128, 300])
        builder.dma_copy(tile, x[core])
        builder.loop(2 + core, lambda _, a=total, b=tile: builder.tensor_tensor(a, b, b, "add"))
        builder.dma_copy(z[core], total)
        builder.close_core()
    return builder.finish()


def column(recording, name: str) -> np.ndarray:
    kind, content = recording["columns"][name]
    return np.frombuffer(content, TYPES[kind])


OPERATORS = ("aten::mm", "aten::add", "aten::softmax")


def decoder(layers):
    """The spans of an embedding, layers that end with a collective, and a head."""
    embedding = Span("embedding", "aten::embedding", "", {"DMA transfer": 3.0}, 64)
    spans = [Span("", LAUNCH, "", {LAUNCH: 2.0}), embedding]
    for layer in range(layers):
        for operator in OPERATORS:
            spent = {"Tensor": 2.0, "DMA transfer": 1.0, "semaphore": 0.5}
            spans.append(Span(f"layers.{layer}.mlp", operator, "model.py:7", spent, 128))
        spans.append(Span(f"layers.{layer}", "all_reduce", "model.py:9", {"collective": 4.0}))
    return [*spans, Span("head", "aten::mm", "model.py:12", {"Tensor": 5.0})]
