"""Training over several processes: DDP, FSDP and tensor parallelism, also with torch.compile."""

import distributed_training_cases as cases
import pytest
import torch
from processes import run_python


def losses_of(folder, kind, world):
    """(losses, why graphs were not compiled) of every rank."""
    processes = [run_python(cases.__file__, folder, rank, world, kind) for rank in range(world)]
    for process in processes:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
    return [torch.load(folder / f"losses{rank}.pt") for rank in range(world)]


def split_batch(world):
    """The losses of each rank when one process trains on the batches of all."""
    model = cases.network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    steps = []
    for _ in range(cases.STEPS):
        losses = [model(cases.data(rank)).square().mean() for rank in range(world)]
        (sum(losses) / world).backward()
        optimizer.step()
        optimizer.zero_grad()
        steps.append([loss.item() for loss in losses])
    return [list(losses) for losses in zip(*steps, strict=True)]


@pytest.mark.parametrize(
    ("kind", "world"), [("ddp", 4), ("fsdp", 2), ("fsdp", 3), ("ddp compiled", 2)]
)
def test_a_split_batch_trains_as_one_process_does_on_all_of_it(tmp_path, kind, world):
    for (found, reasons), expected in zip(
        losses_of(tmp_path, kind, world), split_batch(world), strict=True
    ):
        assert found == pytest.approx(expected, rel=1e-5)
        assert bool(reasons) == kind.endswith("compiled") and not any(reasons)


@pytest.mark.parametrize("kind", ["tensor parallel", "tensor parallel compiled"])
def test_split_layers_train_as_whole_ones(tmp_path, kind):
    expected = cases.train(cases.network(), cases.data(0))
    for found, reasons in losses_of(tmp_path, kind, 2):
        assert found == pytest.approx(expected, rel=1e-5)
        # Collectives are no part of a program: such graphs run operator by operator.
        assert any(reasons) == kind.endswith("compiled")
