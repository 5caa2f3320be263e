"""One of two ranks of a process group `neuron`: writes to FOLDER/RANK.json which collectives do
what torch documents or the vendor's public tests ask for. Usage: two_ranks.py FOLDER RANK."""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

FOLDER, RANK = Path(sys.argv[1]), int(sys.argv[2])
DEVICE = torch.device("neuron", RANK)


def full(value, size=2):
    return torch.full((size,), float(value), device=DEVICE)


def all_reduce():
    x = full(RANK + 1)
    dist.all_reduce(x)
    return x.tolist() == [3, 3]


def broadcast():
    x = full(RANK + 1)
    dist.broadcast(x, 1)
    return x.tolist() == [2, 2]


def gather():
    results = [full(0), full(0)] if RANK == 0 else None
    dist.gather(full(RANK + 1), results, dst=0)
    return RANK == 1 or [each.tolist() for each in results] == [[1, 1], [2, 2]]


def scatter():
    x = full(0)
    dist.scatter(x, [full(1), full(2)] if RANK == 0 else None, src=0)
    return x.tolist() == [RANK + 1] * 2


def all_gather():
    results = [full(0), full(0)]
    dist.all_gather(results, full(RANK + 1))
    return [each.tolist() for each in results] == [[1, 1], [2, 2]]


def all_to_all():
    results = [full(0), full(0)]
    dist.all_to_all(results, [full(10 * RANK), full(10 * RANK + 1)])
    return [each.tolist() for each in results] == [[RANK] * 2, [10 + RANK] * 2]


def barrier():
    return dist.barrier() is None


def send_recv():
    x = full(RANK + 1)
    if RANK == 0:
        dist.send(x, 1)
    else:
        dist.recv(x, 0)
    return x.tolist() == [1, 1]


def reduce_scatter_of_one():
    x = full(0, 1)
    dist.reduce_scatter(x, [torch.tensor([1.0, 2.0], device=DEVICE)])
    return x.tolist() == [2 * (RANK + 1)]


def premul_sum():
    x = full(RANK + 1)
    dist.all_reduce(x, op=dist._make_nccl_premul_sum(2.0))
    return x.tolist() == [6, 6]


def all_gather_coalesced():
    """The vendor's layout: [input][rank]."""
    results = [[full(0), full(0)], [full(0), full(0)]]
    dist.all_gather_coalesced(results, [full(RANK), full(10 + RANK)])
    return [[each[0].item() for each in row] for row in results] == [[0, 1], [10, 11]]


def cpu_tensor_refused():
    try:
        dist.all_reduce(torch.ones(2))
    except (RuntimeError, ValueError):
        return True
    return False


def losses(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for step in range(3):
        x = torch.full((2, 4), 0.1 * (step + 1 + RANK)).to(device)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))


def agrees_with_gloo(wrapped):
    """Data-parallel training has the losses of the same training on CPUs."""
    cpus = dist.new_group(backend="gloo")
    wanted = losses(DistributedDataParallel(layers(), process_group=cpus), "cpu")
    result = losses(wrapped(layers().to(DEVICE)), DEVICE)
    return all(abs(a - b) < 1e-6 for a, b in zip(wanted, result, strict=True))


def ddp():
    return agrees_with_gloo(DistributedDataParallel)


def fsdp():
    return agrees_with_gloo(fully_shard)


CHECKS = (
    all_reduce, broadcast, gather, scatter, all_gather, all_to_all, barrier, send_recv,
    reduce_scatter_of_one, premul_sum, all_gather_coalesced, cpu_tensor_refused, ddp, fsdp,
)  # fmt: skip


def outcome(check):
    try:
        return bool(check())
    except Exception as error:  # the other rank has it too
        return f"{type(error).__name__}: {error}"


def main():
    torch.neuron.set_device(RANK)
    store = f"file://{FOLDER.absolute()}/store"
    dist.init_process_group("neuron", init_method=store, rank=RANK, world_size=2)
    results = {check.__name__: outcome(check) for check in CHECKS}
    (FOLDER / f"{RANK}.json").write_text(json.dumps(results))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
