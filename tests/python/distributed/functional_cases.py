"""What two processes run for test_functional.py; each case returns tensors or raises.

python functional_cases.py FOLDER RANK
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from device_type import DEVICE_TYPE
from distributed_cases import main, mine
from torch import Tensor
from torch.distributed import _functional_collectives as collectives

REDUCTIONS = {
    "sum": torch.float32, "avg": torch.bfloat16, "product": torch.int32, "min": torch.int8,
}  # fmt: skip


def reduced(tensor: Tensor, reduction: str = "sum") -> Tensor:
    return collectives.all_reduce(tensor, reduction, dist.group.WORLD)


def allreduce(dtype=torch.float32, reduction: str = "sum"):
    """[the result, the input afterwards]."""
    tensor = mine(dtype=dtype)
    return [reduced(tensor, reduction).wait(), tensor]


def allreduce_of_group_name():
    result = torch.ops._c10d_functional.all_reduce(mine(), "sum", dist.group.WORLD.group_name)
    return torch.ops._c10d_functional.wait_tensor(result)


def allreduce_of_object():
    """Before torch 2.15 a reduction is a name."""
    schema = torch.ops._c10d_functional.all_reduce.default._schema
    takes_objects = schema.arguments[1].type.kind() == "AnyType"
    return reduced(mine(), dist.ReduceOp.MAX if takes_objects else "max").wait()


def allreduce_strided():
    whole = mine((6, 4))
    return [reduced(whole.t()[1:3]).wait(), whole]


def allreduce_complex():
    tensor = torch.complex(mine(), -mine())
    return [reduced(tensor).wait(), tensor]


def allreduce_strided_on_one_rank():
    whole = mine((4, 4))
    return reduced(whole if dist.get_rank() == 0 else whole.t()).wait()


def allreduce_coalesced():
    tensors = [mine((2, 3)), mine((4, 4)).t(), mine((0,))]
    results = collectives.all_reduce_coalesced(tensors, "sum", dist.group.WORLD)
    return [*(result.wait() for result in results), *tensors]


def broadcast():
    tensor = mine()
    return [collectives.broadcast(tensor, 1, dist.group.WORLD).wait(), tensor]


def compiled():
    """A graph input, and a value of the graph, that are read again after their reductions."""

    def graph(tensor, weight):
        product = tensor @ weight
        return reduced(tensor) - tensor, reduced(product) + product

    tensor, weight = mine(), mine((5, 2))
    with torch.no_grad():
        results = torch.compile(graph, backend=DEVICE_TYPE)(tensor, weight)
    return [*results, tensor, weight]


def launches():
    """[kernels that dense inputs launch on this rank, of the broadcast from rank 1 too]."""
    tensor = mine()
    counts = []
    for collective in (reduced, lambda x: collectives.broadcast(x, 1, dist.group.WORLD)):
        with torch.neuron_sim.record_launches() as found:
            collective(tensor).wait()
        counts.append(len(found))
    return torch.tensor(counts)


def error_reduction():
    reduced(mine(), "median")


def error_device():
    tensors = [mine(), torch.ones(2)]
    return collectives.all_reduce_coalesced(tensors, "sum", dist.group.WORLD)


CASES = {
    **{
        f"allreduce {reduction}": lambda dtype=dtype, reduction=reduction: allreduce(
            dtype, reduction
        )
        for reduction, dtype in REDUCTIONS.items()
    },
    **{
        function.__name__: function
        for function in (
            *(allreduce_of_group_name, allreduce_strided, allreduce_complex),
            *(allreduce_strided_on_one_rank, allreduce_coalesced, broadcast, compiled, launches),
            allreduce_of_object,
            *(error_reduction, error_device),
        )
    },
}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), CASES)
