"""What two processes run for test_distributed.py; each case returns tensors or raises.

python distributed_cases.py FOLDER RANK
"""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import neuron_sim.torch_device as device
import torch
import torch.distributed as dist
from device_type import DEVICE_TYPE
from torch import Tensor

WORLD = 2
DEVICE = DEVICE_TYPE
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
WHOLE = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
REDUCTIONS = ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]


def values(rank: int, shape=(3, 5), dtype=torch.float32) -> Tensor:
    """Small numbers that differ between ranks and fit every dtype."""
    generator = torch.Generator().manual_seed(100 + rank)
    return torch.randint(1, 6, shape, generator=generator).to(dtype)


def mine(shape=(3, 5), dtype=torch.float32) -> Tensor:
    return values(dist.get_rank(), shape, dtype).to(DEVICE)


def allreduce(dtype=torch.float32, reduction="SUM", shape=(3, 5)):
    tensor = mine(shape, dtype)
    dist.all_reduce(tensor, getattr(dist.ReduceOp, reduction))
    return tensor


def allreduce_strided():
    whole = mine((6, 4))
    dist.all_reduce(whole[::2, 1:3])
    return whole


def allreduce_coalesced():
    tensors = [mine((2, 3)), mine((4,)), mine((1, 1, 1))]
    dist.all_reduce_coalesced(tensors)
    return tensors


def broadcast(dtype=torch.float32):
    tensor = mine(dtype=dtype)
    dist.broadcast(tensor, src=1)
    return tensor


def reduce():
    tensor = mine()
    dist.reduce(tensor, dst=1)
    return tensor


def allgather():
    outputs = [torch.zeros(3, 5, device=DEVICE) for _ in range(WORLD)]
    dist.all_gather(outputs, mine())
    return outputs


def allgather_uneven():
    outputs = [torch.zeros(rank + 2, device=DEVICE) for rank in range(WORLD)]
    dist.all_gather(outputs, mine((dist.get_rank() + 2,)))
    return outputs


def allgather_into_tensor():
    output = torch.zeros(6, 5, device=DEVICE)
    dist.all_gather_into_tensor(output, mine())
    return output


def reduce_scatter():
    output = torch.zeros(2, device=DEVICE)
    dist.reduce_scatter(output, list(mine((4,)).chunk(2)))
    return output


def reduce_scatter_one():
    """One tensor for all ranks, strided."""
    output = torch.zeros(2, 3, device=DEVICE)
    dist.reduce_scatter(output, [mine((3, 4)).t()])
    return output


def premultiplied(dtype=torch.float32):
    """A sum of inputs times a number, and times a tensor, on every collective that reduces."""
    scale = dist._make_nccl_premul_sum(0.5)
    total, part = mine(dtype=dtype), torch.zeros(2, 3, dtype=dtype, device=DEVICE)
    dist.all_reduce(total, scale)
    dist.reduce_scatter_tensor(part, mine((4, 3), dtype), scale)
    other = mine(dtype=dtype)
    dist.reduce(other, 0, dist._make_nccl_premul_sum(torch.tensor([4.0], device=DEVICE)))
    return [total, part, other]


def sync_batch_norm():
    """Ranks with batches of different sizes: output, gradients and running statistics."""
    model = torch.nn.SyncBatchNorm(3).to(DEVICE)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([0.5, 2.0, -1.0]))
    inputs = batch(dist.get_rank()).to(DEVICE).requires_grad_()
    with device.strict():
        output = model(inputs)
        output.pow(3).sum().backward()
    dist.all_reduce(model.weight.grad)
    dist.all_reduce(model.bias.grad)
    return [output.detach(), inputs.grad, model.weight.grad, model.bias.grad,
            model.running_mean, model.running_var]  # fmt: skip


def batch(rank: int) -> Tensor:
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(4 + 3 * rank, 3, 5, generator=generator) * (rank + 1) + rank


def reduce_scatter_tensor():
    output = torch.zeros(2, 3, device=DEVICE)
    dist.reduce_scatter_tensor(output, mine((4, 3)))
    return output


def gather():
    root = dist.get_rank() == 1
    outputs = [torch.zeros(3, 5, device=DEVICE) for _ in range(WORLD)] if root else None
    dist.gather(mine(), outputs, dst=1)
    return outputs or []


def scatter():
    output = torch.zeros(2, 2, device=DEVICE)
    inputs = [mine((2, 2)) + i for i in range(WORLD)] if dist.get_rank() == 0 else None
    dist.scatter(output, inputs, src=0)
    return output


def alltoall_single():
    output = torch.zeros(4, 2, device=DEVICE)
    dist.all_to_all_single(output, mine((4, 2)))
    return output


def alltoall_uneven():
    """Rank 0 sends (1, 3) rows, rank 1 sends (2, 0)."""
    sent = [[1, 3], [2, 0]]
    rank = dist.get_rank()
    received = [sent[other][rank] for other in range(WORLD)]
    output = torch.zeros(sum(received), 3, device=DEVICE)
    dist.all_to_all_single(output, mine((sum(sent[rank]), 3)), received, sent[rank])
    return output


def alltoall_list():
    outputs = [torch.zeros(2, device=DEVICE) for _ in range(WORLD)]
    dist.all_to_all(outputs, [mine((2,)) * (i + 1) for i in range(WORLD)])
    return outputs


def messages():
    """Both send before they receive; two messages of one tag arrive in order."""
    other = 1 - dist.get_rank()
    first, second = torch.zeros(2, 3, device=DEVICE), torch.zeros(5, device=DEVICE)
    sends = [dist.isend(mine((2, 3)), other), dist.isend(mine((5,)), other)]
    receives = [dist.irecv(first, other), dist.irecv(second, other)]
    for work in sends + receives:
        work.wait()
    return [first, second]


def message_from_anybody():
    tensor = torch.zeros(4, device=DEVICE)
    if dist.get_rank() == 0:
        dist.send(mine((4,)), 1, tag=7)
        return tensor
    source = dist.recv(tensor, tag=7)
    assert source == 0, source
    return tensor


def clocks_meet():
    """Rank 1 is busy before the collective: rank 0 waits for it. Times in microseconds."""
    dist.barrier()
    x = torch.ones(512, 512, device=DEVICE)
    if dist.get_rank() == 1:
        for _ in range(4):
            torch.ops.neuron_sim.matmul(x, x)
    with device.record_collectives() as found:
        dist.all_reduce(torch.ones(1000, device=DEVICE))
    one = found[0]
    clock = device.simulated_time() * 1e6
    return torch.tensor([one.ready_us, one.start_us, one.end_us, clock], dtype=torch.float64)


def overlap():
    """An asynchronous collective and a kernel: microseconds of each and of both together."""
    x = torch.ones(512, 512, device=DEVICE)
    dist.barrier()
    begin = device.simulated_time()
    with device.record_collectives() as found, device.record_launches() as launches:
        work = dist.all_reduce(torch.ones(1 << 20, device=DEVICE), async_op=True)
        torch.ops.neuron_sim.matmul(x, x)
        work.wait()
        device.synchronize()
    kernel = next(launch for launch in launches if launch.name == "matmul")
    both = found[0].latency_us, kernel.end_us - kernel.start_us
    del begin
    spans = found[0].start_us, found[0].end_us, kernel.start_us, kernel.end_us
    return torch.tensor([*both, *spans], dtype=torch.float64)


def cpu_tensors():
    group = dist.new_group(backend=f"cpu:gloo,{DEVICE_TYPE}:{DEVICE_TYPE}")
    host, there = values(dist.get_rank()), mine()
    dist.all_reduce(host, group=group)
    dist.all_reduce(there, group=group)
    return [host, there]


# Errors: the group works on after each of them.


def error_shapes():
    dist.all_reduce(torch.ones(2 + dist.get_rank(), device=DEVICE))


def error_calls():
    tensor = torch.ones(2, device=DEVICE)
    if dist.get_rank() == 0:
        dist.all_reduce(tensor)
    else:
        dist.broadcast(tensor, src=0)


def error_dtypes():
    dist.all_reduce(torch.ones(2, device=DEVICE, dtype=FLOATS[dist.get_rank()]))


def error_one_rank():
    """Only rank 1 gives a list of another length: rank 0 hears why."""
    outputs = [torch.zeros(2, device=DEVICE) for _ in range(WORLD)]
    dist.all_gather(outputs, torch.zeros(2 + dist.get_rank(), device=DEVICE))


def error_reduction():
    premul = dist._make_nccl_premul_sum(2.0)
    dist.all_reduce(torch.ones(2, dtype=torch.int32, device=DEVICE), premul)


def error_split():
    dist.reduce_scatter(torch.ones(2, device=DEVICE), [torch.ones(3, device=DEVICE)])


def error_reduction_dtype():
    dist.all_reduce(torch.ones(2, device=DEVICE), dist.ReduceOp.BAND)


def error_devices():
    dist.all_gather([torch.zeros(2), torch.zeros(2)], torch.ones(2, device=DEVICE))


def error_splits():
    rows = [[1, 1], [1, 1]] if dist.get_rank() == 0 else [[2, 0], [1, 1]]
    output = torch.zeros(2, device=DEVICE)
    dist.all_to_all_single(output, torch.ones(2, device=DEVICE), rows[0], rows[1])


def error_message():
    if dist.get_rank() == 0:
        dist.send(torch.ones(3, device=DEVICE), 1)
    else:
        dist.recv(torch.ones(4, device=DEVICE), 0)


def error_self():
    dist.isend(torch.ones(3, device=DEVICE), 5, tag=-1)


CASES = {
    **{f"allreduce {dtype}": lambda dtype=dtype: allreduce(dtype) for dtype in FLOATS + WHOLE},
    **{
        f"allreduce {name}": lambda name=name: allreduce(
            torch.int32 if name[0] == "B" else torch.float32, name
        )
        for name in REDUCTIONS
    },
    "allreduce scalar": lambda: allreduce(shape=()),
    "allreduce nothing": lambda: allreduce(shape=(0, 3)),
    **{f"broadcast {dtype}": lambda dtype=dtype: broadcast(dtype) for dtype in FLOATS + WHOLE},
    **{
        function.__name__: function
        for function in (
            *(allreduce_strided, allreduce_coalesced, reduce, allgather, allgather_uneven),
            *(allgather_into_tensor, reduce_scatter, reduce_scatter_tensor, gather, scatter),
            *(alltoall_single, alltoall_uneven, alltoall_list, messages, message_from_anybody),
            *(reduce_scatter_one, premultiplied, sync_batch_norm),
            *(clocks_meet, overlap, cpu_tensors),
            *(error_shapes, error_calls, error_dtypes, error_one_rank, error_reduction),
            *(error_reduction_dtype, error_devices, error_splits, error_message, error_self),
            error_split,
        )
    },
}


def host(result):
    if isinstance(result, list):
        return [tensor.cpu() for tensor in result]
    return result.cpu() if isinstance(result, Tensor) else result


def main(folder: str, rank: int, cases=CASES) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        DEVICE_TYPE, init_method=f"file://{folder}/rendezvous", rank=rank, world_size=WORLD,
        timeout=datetime.timedelta(seconds=120),
    )  # fmt: skip
    results = {}
    for name, case in cases.items():
        try:
            results[name] = host(case())
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"
    torch.save(results, Path(folder) / f"results{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
