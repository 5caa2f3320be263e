"""Host arrays of a call: NumPy arrays and torch tensors (without importing torch)."""

import sys

import numpy as np

from ..tracing import dtypes


def is_declared(value) -> bool:
    """A class with shape and dtype that stands for an array of zeros."""
    if not isinstance(value, type) or not isinstance(getattr(value, "shape", None), tuple):
        return False
    return getattr(value, "dtype", None) is not None


def is_array(value) -> bool:
    """NumPy arrays, torch tensors (without importing torch), and declared ones: nt.tensor[...]."""
    if isinstance(value, np.ndarray) or is_declared(value):
        return True
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


class Input:
    """An array argument: where it is (a path of keys), its shape and dtype."""

    __slots__ = ("name", "shape", "dtype")

    def __init__(self, name: str, array):
        self.name = name
        # A symbolic size of torch becomes the number it stands for: programs have fixed sizes.
        self.shape = tuple([int(size) for size in array.shape])
        self.dtype = dtypes.from_array(array.dtype)


class Placeholder:
    """The place of an array argument."""

    __slots__ = ("position",)

    def __init__(self, position: int):
        self.position = position


def mapped(value, convert, name: str):
    """`value` with its arrays converted, in tuples, lists and dicts too."""
    if is_array(value):
        return convert(value, name)
    if type(value) in (tuple, list):
        return type(value)(mapped(each, convert, f"{name}{i}") for i, each in enumerate(value))
    if type(value) is dict:
        return {key: mapped(each, convert, f"{name}_{key}") for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(each, convert, name) for each in value))
    return value


def is_numpy(array) -> bool:
    return isinstance(array, np.ndarray)


def as_bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def host_bytes(array, declared: Input) -> np.ndarray:
    """A contiguous NumPy array of the declared dtype; the array itself where it is one already."""
    if is_declared(array):
        array = np.zeros(declared.shape, declared.dtype.numpy)
    elif not is_numpy(array):
        array = _from_torch(array)
    result = np.ascontiguousarray(array.astype(declared.dtype.numpy, copy=False))
    return result if result.flags.writeable else result.copy()


def _from_torch(tensor) -> np.ndarray:
    """A CPU tensor's elements; formats that NumPy does not have by their bytes."""
    torch = sys.modules["torch"]
    tensor = tensor.detach()
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    dtype = dtypes.from_array(tensor.dtype)
    if dtype.numpy.kind == "V" or dtype.numpy.type.__module__ == "ml_dtypes":
        same_size = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[dtype.itemsize]
        return tensor.contiguous().view(same_size).numpy().view(dtype.numpy)
    return tensor.numpy()


def to_torch(torch, array: np.ndarray):
    name = dtypes.from_array(array.dtype).name
    torch_name = "bool" if name == "bool_" else name
    if array.dtype.kind == "V" or array.dtype.type.__module__ == "ml_dtypes":
        same_size = {1: np.uint8, 2: np.int16, 4: np.int32}[array.dtype.itemsize]
        return torch.from_numpy(array.view(same_size)).view(getattr(torch, torch_name))
    return torch.from_numpy(array)


def copy_into_torch(tensor, array: np.ndarray) -> None:
    tensor.data.copy_(to_torch(sys.modules["torch"], array))
