"""Graphs that write parts of their inputs: without copies of the rest, and with eager's values."""

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE


class Cache(torch.nn.Module):
    """Rows of tokens; forward writes some and reads all."""

    def __init__(self, write, rows: int = 300) -> None:
        super().__init__()
        self.write = write
        self.register_buffer("rows", torch.arange(rows * 64.0).view(rows, 64))

    def forward(self, place, row):
        return self.write(self.rows, place, row)


def by_index(rows, place, row):
    rows.index_copy_(0, place, row)
    return rows.sum(1)


def by_slice(rows, _, row):
    rows[2:3] = row
    return rows.sum(1)


def by_all(rows, _, row):
    rows.copy_(row.expand_as(rows))
    return rows.sum(1)


def read_old_before_all(rows, _, row):
    old = rows * 1
    rows.copy_(row.expand_as(rows))
    return old - rows


def read_before(rows, place, row):
    before = rows.sum(0)
    rows.index_copy_(0, place, row)
    return before + rows.sum(0)


def read_old_rows_after(rows, place, row):
    old = rows * 1
    rows.index_copy_(0, place, row)
    return old - rows


def read_old_view_after(rows, place, row):
    changed = rows.index_copy(0, place, row)
    old = rows[1:].sum(1)
    rows.copy_(changed)
    return old


def return_the_result(rows, place, row):
    changed = rows.index_copy(0, place, row)
    rows.copy_(changed)
    return changed


def write_twice(rows, place, row):
    rows.index_copy_(0, place, row)
    rows.index_copy_(0, place + 1, row * 2)
    return rows.sum(1)


ALL = [
    by_index, by_slice, by_all, read_old_before_all, read_before, read_old_rows_after,
    read_old_view_after, return_the_result, write_twice,
]  # fmt: skip


def run(module, device, rows=1):
    module = module.to(device)
    place = torch.arange(5, 5 + rows).to(device)
    row = torch.full((rows, 64), -1.0, device=device)
    with torch.no_grad():
        found = [module(place, row).cpu() for _ in range(2)]
    return [*found, module.rows.cpu()]


@pytest.mark.parametrize("write", ALL, ids=lambda write: write.__name__)
def test_values_are_those_of_the_cpu(write):
    expected = run(Cache(write), "cpu")
    module = Cache(write).to(DEVICE_TYPE)
    compiled = torch.compile(module, backend=DEVICE_TYPE)
    compiled.rows = module.rows
    found = run(compiled, DEVICE_TYPE)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("write", [by_index, by_slice], ids=lambda write: write.__name__)
def test_a_row_is_written_without_a_copy_of_the_others(write):
    module = Cache(write, rows=4096).to(DEVICE_TYPE)
    compiled = torch.compile(module, backend=DEVICE_TYPE)
    place = torch.tensor([2], device=DEVICE_TYPE)
    row = torch.ones(1, 64, device=DEVICE_TYPE)
    with torch.no_grad():
        compiled(place, row)
        with torch.neuron_sim.record_launches() as launches:
            compiled(place, row)
    read_once = module.rows.nbytes
    assert sum(launch.dma_bytes for launch in launches) < 1.1 * read_once


def test_all_rows_are_written_without_a_copy_of_the_old_ones():
    module = Cache(lambda rows, _, row: rows.copy_(row).sum(), rows=4096).to(DEVICE_TYPE)
    compiled = torch.compile(module, backend=DEVICE_TYPE)
    place, rows = torch.tensor([2], device=DEVICE_TYPE), torch.ones_like(module.rows)
    with torch.no_grad():
        compiled(place, rows)
        with torch.neuron_sim.record_launches() as launches:
            compiled(place, rows)
    assert sum(launch.dma_bytes for launch in launches) < 3.1 * module.rows.nbytes
