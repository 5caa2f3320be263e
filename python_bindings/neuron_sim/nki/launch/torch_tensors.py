"""Kernels on torch tensors: of a simulated device without copies, of the host, and without data.

Loaded with the first torch tensor that a kernel gets; nothing here imports torch.
"""

import contextlib
import sys
import threading
from typing import Any

from neuron_sim.settings import device_name

from ..syntax.places import point_at_message


class _Calls(threading.local):
    """The operators of torch.library that run in this thread: (name, {storage: argument})."""

    def __init__(self):
        self.open: list = []


_calls = _Calls()


@contextlib.contextmanager
def operator_call(name: str, fixed: dict) -> Any:
    """While operator `name` runs, kernels do not write to the storages of `fixed`."""
    _calls.open.append((name, fixed))
    try:
        yield
    finally:
        _calls.open.pop()


def storage_of(tensor: Any) -> int:
    """Identifies the memory of a tensor, also of one without data."""
    return tensor.untyped_storage()._cdata


def check_operator(traced: Any, tensors: list) -> None:
    """RuntimeError when the operator that calls the kernel did not declare what it writes to."""
    if not _calls.open:
        return
    name, fixed = _calls.open[-1]
    for tensor, facts in zip(tensors, traced.source.arguments, strict=False):
        argument = fixed.get(storage_of(tensor)) if facts["written"] else None
        if argument is not None:
            raise RuntimeError(
                f"operator '{name}': kernel '{traced.name}' writes to `{facts['label']}`, which is "
                f"its argument '{argument}'; add it to mutates_args."
            )


def _check_not_captured(name: str) -> None:
    """A call without data outside of an operator would leave its results in a graph as they are."""
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if proxies is None or _calls.open or proxies.get_proxy_mode() is None:
        return
    raise RuntimeError(
        f"kernel '{name}' is called while a graph is captured; make it an operator with "
        "neuron_sim.nki.torch.nki_op."
    )


def kind_of(name: str, arrays: list, inputs: list) -> str:
    """Where the arrays are: "host", the name of the device, or "meta" for tensors without data.

    TypeError for NumPy arrays among tensors, RuntimeError for several devices, another device or
    tensors that require grad.
    """
    torch = sys.modules["torch"]
    kinds = []
    for array, declared in zip(arrays, inputs, strict=True):
        where = f"kernel '{name}': input '{declared.name}'"
        if not isinstance(array, torch.Tensor):
            raise TypeError(
                f"{where} is a NumPy array, but other inputs are torch tensors; all inputs must be "
                "of one kind."
            )
        if array.requires_grad and torch.is_grad_enabled():
            raise RuntimeError(
                f"{where} requires grad, but a kernel has no gradient. Call it under "
                "torch.no_grad(), inside a torch.autograd.Function, or as an operator of "
                "neuron_sim.nki.torch.nki_op with register_autograd."
            )
        if array.layout is not torch.strided:
            raise TypeError(f"{where} is {array.layout}; a kernel takes dense tensors.")
        kinds.append("meta" if _has_no_data(torch, array) else array.device.type)
    first = arrays[0].device
    for array, declared in zip(arrays, inputs, strict=True):
        if array.device != first:
            raise RuntimeError(
                f"kernel '{name}': input '{inputs[0].name}' is on {first}, input "
                f"'{declared.name}' on {array.device}; all inputs must be on one device."
            )
    if "meta" in kinds:
        _check_not_captured(name)
        return "meta"
    if first.type not in ("cpu", device_name()):
        raise RuntimeError(
            f"kernel '{name}': its inputs are on {first}; a kernel takes tensors on "
            f"{device_name()} or cpu."
        )
    return "host" if first.type == "cpu" else device_name()


def _has_no_data(torch: Any, tensor: Any) -> bool:
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    return tensor.is_meta or (fake is not None and isinstance(tensor, fake.FakeTensor))


def torch_dtype(torch: Any, dtype: Any, what: str) -> Any:
    """The torch dtype of an element type; TypeError where torch has none."""
    name = {"bool_": "bool", "tfloat32": "float32"}.get(dtype.name, dtype.name)
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"{what} is {dtype.name}, which torch does not have.")
    return found


def results_of(traced: Any, tensors: list) -> list:
    """New tensors for the arguments of the program that are not inputs, on the inputs' device."""
    torch = sys.modules["torch"]
    made = []
    for number, (shape, dtype) in enumerate(traced.arguments[len(tensors) :], len(tensors)):
        label = traced.source.arguments[number]["label"]
        torch_type = torch_dtype(torch, dtype, f"kernel '{traced.name}': output '{label}'")
        made.append(tensors[0].new_empty(shape, dtype=torch_type))
    return made


def launch(traced: Any, tensors: list, computes: bool) -> list:
    """Launches a kernel on the current stream of its inputs' device; returns all arguments.

    Dense tensors of the declared dtypes are used in place; others (strided, or 64-bit) through a
    dense copy, which is written back when the kernel writes to it.
    """
    from neuron_sim import _C  # needs torch

    torch = sys.modules["torch"]
    inputs = [_dense(torch, *pair) for pair in zip(tensors, traced.inputs, strict=True)]
    results = results_of(traced, tensors)
    index = tensors[0].device.index
    try:
        in_graph = traced.kernel_in_graphs if _C.is_capturing() else None
        _C.launch_kernel(
            traced.compiled_kernel, inputs + results, len(inputs), index, computes, in_graph
        )
    except Exception as error:
        point_at_message(error)
        raise
    for tensor, dense, facts in zip(tensors, inputs, traced.source.arguments, strict=False):
        if facts["written"]:
            _finish_write(torch, tensor, dense)
    return tensors + results


def _dense(torch, tensor, declared):
    wanted = torch_dtype(torch, declared.dtype, f"input '{declared.name}'")
    if tensor.dtype is not wanted:
        tensor = tensor.detach().to(wanted)
    return tensor.detach().resolve_neg().contiguous()


def _finish_write(torch: Any, tensor: Any, dense: Any) -> None:
    if tensor.data_ptr() != dense.data_ptr() or tensor.dtype is not dense.dtype:
        with torch.no_grad():
            tensor.copy_(dense)
    elif not tensor.is_inference():
        torch.autograd.graph.increment_version(tensor)
