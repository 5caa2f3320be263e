"""Runs the body of a kernel on arrays: what the tests of nki.isa and of the operators share."""

import os

import ml_dtypes
import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np

RANDOM = np.random.default_rng(7)
BFLOAT16 = ml_dtypes.bfloat16


def uniform(*shape, low=-1.0, high=1.0, dtype=np.float32):
    """Random numbers in [low, high)."""
    return RANDOM.uniform(low, high, shape).astype(dtype)


def integers(*shape, low=0, high=100, dtype=np.int32):
    """Random integers in [low, high)."""
    return RANDOM.integers(low, high, shape).astype(dtype)


class target:
    """Kernels inside are compiled for an architecture."""

    def __init__(self, architecture):
        self.architecture = architecture

    def __enter__(self):
        self.before = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE")
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = self.architecture

    def __exit__(self, *_):
        if self.before is None:
            del os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"]
        else:
            os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = self.before


def in_hbm(words, tile):
    """A tensor in HBM with the contents of a tile; `words`: the language of the kernel."""
    out = words.ndarray(tile.shape, dtype=tile.dtype, buffer=words.shared_hbm)
    words.store(out, tile)
    return out


def writing(body, shape, dtype="float32", memory="sbuf"):
    """A kernel of the new language: body(dst, *tiles) writes a tile `dst` of `shape`, which is
    returned; the tiles hold the kernel's arguments."""

    @nki.jit
    def kernel(*arrays):
        out = nl.ndarray(shape, dtype, buffer=nl.shared_hbm)
        tiles = [nl.load(array) for array in arrays]
        dst = nl.ndarray(shape, dtype, buffer=nl.psum if memory == "psum" else nl.sbuf)
        body(dst, *tiles)
        nl.store(out, dst)
        return out

    return kernel


def write(body, arrays, shape, dtype="float32", memory="sbuf", architecture="trn2"):
    """What `writing(body, ...)` returns for these arrays."""
    with target(architecture):
        return writing(body, shape, dtype, memory)(*arrays)


def returning(body, language="new"):
    """A kernel that stores the tile body(*tiles) in HBM; the tiles hold its arguments."""
    decorate, words = (nki.jit, nl) if language == "new" else (old_nki.jit, old_nl)

    @decorate
    def kernel(*arrays):
        return in_hbm(words, body(*[words.load(array) for array in arrays]))

    return kernel


def result_of(body, *arrays, language="new", architecture="trn2"):
    """The tile that body(*tiles) gives, as an array."""
    with target(architecture):
        return returning(body, language)(*arrays)


def engine_time(kernel, arrays, instruction, architecture="trn2"):
    """Nanoseconds the instruction's engine is busy with it (the longest one when several)."""
    with target(architecture):
        steps = kernel.traced(*arrays).source.steps()
    times = [
        step["end_ns"] - step["start_ns"]
        for step in steps
        if step["instruction"] == instruction and step["kind"] in ("step", "transfer")
    ]
    assert times, f"no step of {instruction}"
    return max(times)
