"""Memories that kernels name without a module, as the compiler of SDK 2.27 read them."""

import builtins

import neuron_sim.neuronxcc.nki as old
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import numpy as np
import pytest

NAMES = ("sbuf", "psum", "hbm", "private_hbm", "shared_hbm")


@pytest.fixture(autouse=True)
def without_keywords():
    yield
    for name in NAMES:
        if hasattr(builtins, name):
            delattr(builtins, name)


def product(a, b):
    x = sbuf.view(dtype=a.dtype, shape=a.shape)  # noqa: F821
    y = sbuf.view(b.dtype, b.shape)  # noqa: F821
    nisa.dma_copy(dst=x, src=a)
    nisa.dma_copy(dst=y, src=b)
    sums = psum.view(dtype="float32", shape=(a.shape[1], b.shape[1]))  # noqa: F821
    nisa.nc_matmul(dst=sums, stationary=x, moving=y)
    copied = sbuf.view(dtype=a.dtype, shape=sums.shape)  # noqa: F821
    nisa.tensor_copy(dst=copied, src=sums)
    out = hbm.view(dtype=a.dtype, shape=sums.shape)  # noqa: F821
    nisa.dma_copy(dst=out, src=copied)
    return out


def test_a_kernel_makes_tensors_in_memories_that_are_keywords():
    random = np.random.default_rng(4)
    a, b = (random.random((64, size), dtype=np.float32) for size in (32, 48))
    for kernel in (nki.jit(product), nki.jit(product)):
        assert np.allclose(kernel(a, b), a.T @ b, rtol=1e-5)


def test_only_missing_names_of_memories_are_provided():
    @nki.jit
    def kernel(a):
        return dram.view(a.dtype, a.shape)  # noqa: F821

    for jit, function, name in [(nki.jit, kernel.func, "dram"), (old.jit, product, "sbuf")]:
        with pytest.raises(NameError, match=f"name '{name}' is not defined"):
            jit(function)(*[np.zeros((4, 4), np.float32)] * (1 if name == "dram" else 2))
    assert not any(hasattr(builtins, name) for name in NAMES)
