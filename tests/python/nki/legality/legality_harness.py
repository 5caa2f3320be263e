"""Kernels from text, and what becomes of them at a level of legality."""

import importlib.util
import re
import sys

import ml_dtypes
import numpy as np

IMPORTS = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
_OURS = (
    (r"^import nki$", "import neuron_sim.nki as nki"),
    (r"^(import|from) (nki\.|neuronxcc)", r"\1 neuron_sim.\2"),
)


def kernel_of(folder, text, name="written"):
    """The function `kernel` of a module with that text."""
    for pattern, ours in _OURS:
        text = re.sub(pattern, ours, text, flags=re.MULTILINE)
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module.kernel


def array_of(shape, dtype):
    """Small numbers of a dtype."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape) % 7
    return numbers.astype(getattr(ml_dtypes, dtype, dtype))


def refusal_of(kernel, *arrays):
    """The error that the kernel raises, None when it runs."""
    try:
        kernel(*arrays)
    except Exception as error:
        return error
    return None
