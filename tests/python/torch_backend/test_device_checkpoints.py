"""Saving, loading, copying and pickling whole trainings; workers of loaders; other processes."""

import copy
import io
import multiprocessing
import os
import pickle
import subprocess
import sys

import neuron_sim.torch_device as device_module
import pytest
import torch
import torch.multiprocessing
from device_type import DEVICE_TYPE, OWN_NAME
from torch import nn

PLACES = ["cpu", f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"]
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.05, amsgrad=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 0.05),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.05, momentum=0.5, centered=True),
}


@pytest.fixture(autouse=True)
def strict_and_seeded():
    torch.manual_seed(0)
    with device_module.strict():
        yield


def saved(thing):
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    buffer.seek(0)
    return buffer


class Training:
    """A network with buffers, its optimizer, a schedule; steps are the same on every device."""

    def __init__(self, device, optimizer):
        torch.manual_seed(1)
        layers = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 3))
        self.network = layers.to(device)
        self.optimizer = OPTIMIZERS[optimizer](self.network.parameters())
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.device = device

    def run(self, steps, first=0):
        losses = []
        for step in range(first, first + steps):
            data = torch.randn(5, 4, generator=torch.Generator().manual_seed(step))
            self.optimizer.zero_grad()
            loss = self.network(data.to(self.device)).square().mean()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            losses.append(loss.item())
        return losses

    def state(self):
        parts = (self.network, self.optimizer, self.schedule)
        return [part.state_dict() for part in parts]

    def load(self, states):
        for part, state in zip((self.network, self.optimizer, self.schedule), states, strict=True):
            part.load_state_dict(state)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("source,target", [("cpu", PLACES[2]), (PLACES[2], "cpu"), PLACES[1:]])
def test_a_training_goes_on_on_another_device(source, target, optimizer):
    whole = Training(source, optimizer)
    whole.run(2)
    file = saved(whole.state())
    resumed = Training(target, optimizer)
    resumed.load(torch.load(file, map_location=target))
    tensors = [t for s in resumed.optimizer.state.values() for n, t in s.items() if n != "step"]
    assert all(t is None or t.device == torch.device(target) for t in tensors)
    assert resumed.run(2, 2) == pytest.approx(whole.run(2, 2), rel=1e-4)


@pytest.mark.parametrize("target", PLACES)
@pytest.mark.parametrize("source", PLACES)
def test_locations_are_mapped_by_name_table_and_function(source, target):
    host = torch.arange(6.0).view(2, 3)
    for location in (target, torch.device(target), {source: target}, lambda s, _: s.cpu()
                     if target == "cpu" else s.neuron_sim(int(target[-1]))):  # fmt: skip
        loaded = torch.load(saved(host.to(source)), map_location=location)
        assert loaded.device == torch.device(target) and torch.equal(loaded.cpu(), host)
    if source != "cpu":
        assert torch.load(saved(host.to(source)), map_location=lambda s, _: s).is_cpu


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64,
                                   torch.bool, torch.int8, torch.float64])  # fmt: skip
def test_every_dtype_and_layout_is_saved_and_pickled(dtype):
    host = (torch.arange(24) % 5).to(dtype).view(2, 3, 4)
    device = host.to(f"{DEVICE_TYPE}:1")
    for view in (lambda t: t, lambda t: t.permute(2, 0, 1), lambda t: t[:, 1:, ::2],
                 lambda t: t[:0], lambda t: t[1, 2, 3]):  # fmt: skip
        for twin in (torch.load(saved(view(device))), pickle.loads(pickle.dumps(view(device))),
                     copy.deepcopy(view(device)), copy.copy(view(device))):  # fmt: skip
            assert twin.device == device.device and twin.dtype == dtype
            assert twin.stride() == view(host).stride()
            assert torch.equal(twin.cpu(), view(host))


def test_a_file_is_loaded_by_a_process_without_the_device_when_it_is_mapped(tmp_path):
    torch.save({"weight": torch.arange(4.0).to(f"{DEVICE_TYPE}:1")}, tmp_path / "file.pt")
    program = (
        "import sys, torch\n"
        "assert not hasattr(torch, 'neuron_sim')\n"
        f"state = torch.load({str(tmp_path / 'file.pt')!r}, map_location='cpu')\n"
        "assert state['weight'].tolist() == [0, 1, 2, 3]\n"
    )
    environment = {**os.environ, **OWN_NAME, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_a_device_that_does_not_exist_is_named_when_a_file_wants_it():
    with pytest.raises(RuntimeError, match="99"):
        torch.load(saved(torch.ones(2)), map_location=f"{DEVICE_TYPE}:99")


def test_memory_mapped_files_are_loaded_to_the_device(tmp_path):
    torch.save(torch.arange(5.0), tmp_path / "file.pt")
    mapped = torch.load(tmp_path / "file.pt", mmap=True, map_location=f"{DEVICE_TYPE}:1")
    assert mapped.device == torch.device(f"{DEVICE_TYPE}:1") and mapped.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("duplicate", [
    copy.deepcopy,
    lambda m: pickle.loads(pickle.dumps(m)),
    lambda m: torch.load(saved(m), weights_only=False),
])  # fmt: skip
def test_a_duplicate_of_a_trained_module_goes_its_own_way_and_keeps_ties(duplicate):
    network = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).to(f"{DEVICE_TYPE}:1")
    network[1].weight = network[0].weight
    network(torch.ones(1, 3).to(f"{DEVICE_TYPE}:1")).sum().backward()
    twin = duplicate(network)
    assert twin[0].weight is twin[1].weight and twin[0].weight.device.index == 1
    before = network[0].weight.detach().cpu()
    with torch.no_grad():
        twin[0].weight.add_(1)
    assert torch.equal(network[0].weight.cpu(), before)
    assert torch.equal(twin[0].weight.cpu(), before + 1)


def test_optimizers_are_copied_with_their_state():
    training = Training(f"{DEVICE_TYPE}:1", "AdamW")
    training.run(2)
    twin = copy.deepcopy(training)
    assert twin.run(3, 2) == training.run(3, 2)


def test_modules_start_on_the_meta_device_and_are_loaded_onto_this_one():
    reference = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()
    with torch.device("meta"):
        empty = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()
    empty.to_empty(device=f"{DEVICE_TYPE}:1").load_state_dict(reference.state_dict())
    data = torch.randn(2, 3)
    torch.testing.assert_close(empty(data.to(f"{DEVICE_TYPE}:1")).cpu(), reference(data))
    with torch.device("meta"):
        assigned = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()
    state = torch.load(saved(reference.state_dict()), map_location=f"{DEVICE_TYPE}:1")
    assigned.load_state_dict(state, assign=True)
    torch.testing.assert_close(assigned(data.to(f"{DEVICE_TYPE}:1")).cpu(), reference(data))


# Loaders


class Rows(torch.utils.data.Dataset):
    """Rows of numbers; on the device if `device` says so."""

    def __init__(self, device=None):
        self.device = device

    def __len__(self):
        return 10

    def __getitem__(self, index):
        row = torch.full((3,), float(index))
        return row if self.device is None else row.to(self.device)


@pytest.mark.parametrize("start", [None, "spawn", "forkserver"])
def test_a_loader_pins_what_its_workers_made(start):
    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=4, num_workers=0 if start is None else 2, pin_memory=True,
        multiprocessing_context=start,
    )  # fmt: skip
    seen = []
    for batch in loader:
        assert batch.is_pinned()
        seen.append(batch.to(f"{DEVICE_TYPE}:1", non_blocking=True).sum().item())
    assert seen == [18.0, 66.0, 51.0]


def test_a_forked_worker_that_uses_the_device_says_why_it_cannot():
    torch.ones(1).to(DEVICE_TYPE)
    loader = torch.utils.data.DataLoader(
        Rows(DEVICE_TYPE), num_workers=1, multiprocessing_context="fork"
    )
    with pytest.raises(RuntimeError, match="Cannot re-initialize neuron_sim in forked subprocess"):
        next(iter(loader))


def test_a_spawned_worker_that_returns_device_tensors_says_why_it_cannot():
    loader = torch.utils.data.DataLoader(
        Rows(DEVICE_TYPE), num_workers=1, multiprocessing_context="spawn"
    )
    with pytest.raises(RuntimeError, match="cannot be shared with another process"):
        next(iter(loader))


# Other processes


def use_the_device(results):
    try:
        torch.ones(2, device=DEVICE_TYPE)
    except RuntimeError as error:
        results.put(str(error))
    else:
        results.put("used")


@pytest.mark.parametrize(
    "start,expected", [("fork", "'spawn' start method"), ("spawn", "used"), ("forkserver", "used")]
)
def test_processes_of_every_kind_use_the_device_or_say_why_not(start, expected):
    torch.ones(1).to(DEVICE_TYPE)
    context = multiprocessing.get_context(start)
    results = context.Queue()
    child = context.Process(target=use_the_device, args=(results,))
    child.start()
    assert expected in results.get(timeout=120)
    child.join()
    assert child.exitcode == 0


def test_modules_in_shared_memory_move_to_the_device():
    network = nn.Linear(2, 2).share_memory()
    network.to(DEVICE_TYPE)
    assert network(torch.ones(1, 2).to(DEVICE_TYPE)).shape == (1, 2)


def test_modules_in_queues_are_refused_with_the_reason():
    queue = torch.multiprocessing.get_context("spawn").SimpleQueue()
    with pytest.raises(RuntimeError, match=r"send tensor.cpu\(\)"):
        queue.put(nn.Linear(2, 2).to(DEVICE_TYPE))
    queue.put(nn.Linear(2, 2))
    assert queue.get().weight.shape == (2, 2)
