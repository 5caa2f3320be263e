"""A kernel of few instructions on NumPy arrays: what the tests of Builder's methods share."""

import ml_dtypes
import numpy as np
from neuron_sim import _core

_NAMES = {
    np.dtype(np.bool_): "bool_",
    np.dtype(ml_dtypes.bfloat16): "bfloat16",
    np.dtype(ml_dtypes.float8_e4m3fn): "float8_e4m3",
}


def dtype_name(dtype) -> str:
    return _NAMES.get(np.dtype(dtype), np.dtype(dtype).name)


class Kernel:
    """`load` makes a tile of an array, `result` says which views come back from `run`."""

    def __init__(self, architecture: str = "trn2"):
        self.builder = _core.Builder("kernel", architecture, "automatic")
        self.arrays, self.results = [], []

    def argument(self, array):
        array = np.ascontiguousarray(array)
        self.arrays.append(array)
        name = f"argument{len(self.arrays)}"
        return self.builder.argument(name, list(array.shape), dtype_name(array.dtype))

    def load(self, array):
        array = np.asarray(array)
        tile = self.tile(array.shape, array.dtype)
        self.builder.dma_copy(tile, self.argument(array))
        return tile

    def tile(self, shape, dtype=np.float32):
        return self.builder.sbuf("tile", list(shape), dtype_name(dtype))

    def result(self, view, dtype=np.float32):
        if view.memory == "psum":
            copy = self.tile(view.shape, dtype)
            self.builder.tensor_copy(copy, view)
            view = copy
        self.results.append(len(self.arrays))
        self.builder.dma_copy(self.argument(np.zeros(view.shape, dtype)), view)

    def run(self):
        program = self.builder.finish()
        assert program.time()["body_us"] > 0
        program.run([array.view(np.uint8) for array in self.arrays])
        results = [self.arrays[index] for index in self.results]
        return results[0] if len(results) == 1 else results


def normal(*shape, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
