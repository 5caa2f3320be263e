"""Every operator of PyTorch's database on device 1 while device 0 is current.

Results and memory are on device 1, and the numbers are those of device 0.
"""

import itertools
import warnings

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

# Their results are whatever was in memory.
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
             "new_empty_strided"}  # fmt: skip
OPERATORS = [op for op in op_db if torch.float32 in op.supported_dtypes("cpu")]
# Parts of the database, so that a failure names few operators.
PARTS = [OPERATORS[first : first + 60] for first in range(0, len(OPERATORS), 60)]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(before)


def tensors(tree):
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


def results(op, sample, device):
    """Results of a call; None where the device refuses it."""
    placed = sample.transform(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x)
    torch.manual_seed(0)
    try:
        return tensors(op(placed.input, *placed.args, **placed.kwargs))
    # AssertionError: operators of CUDA alone.
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError):
        return None


def first_sample(op):
    """In a list; empty when the operator cannot make one here."""
    try:
        return list(itertools.islice(op.sample_inputs("cpu", torch.float32), 1))
    except (RuntimeError, ImportError):
        return []


def comparable(tensor):
    """Its values on the host, dense and without NaN, which equals nothing."""
    here = tensor.cpu()
    dense = here if here.layout == torch.strided else here.to_dense()
    return dense.nan_to_num(7)


def problem_of(op, sample):
    """What is wrong with a call on device 1, None if nothing is."""
    device_module.reset_peak_memory_stats(0)
    before = device_module.memory_allocated(0)
    found = results(op, sample, f"{DEVICE_TYPE}:1")
    if device_module.max_memory_allocated(0) > before:
        return "takes memory of device 0"
    if device_module.current_device() != 0:
        return "changes the current device"
    expected = results(op, sample, f"{DEVICE_TYPE}:0")
    if found is None or expected is None:
        return None if found is expected else "is refused on one of the devices"
    if any(x.device == torch.device(f"{DEVICE_TYPE}:0") for x in found):
        return "has a result on device 0"
    if op.name in UNDEFINED:
        return None
    same = [torch.equal(comparable(a), comparable(b)) for a, b in
            zip(found, expected, strict=True) if not a.is_complex()]  # fmt: skip
    return None if all(same) else "has other numbers than on device 0"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part[0].name} to {part[-1].name}")
def test_operators_of_the_second_device_leave_the_first_alone(part):
    problems, calls = {}, 0
    for op in part:
        for sample in first_sample(op):
            calls += 1
            problem = problem_of(op, sample)
            if problem is not None:
                problems[op.name] = problem
    assert problems == {}
    assert calls > len(part) / 2
