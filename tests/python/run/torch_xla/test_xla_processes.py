"""torch_xla with several processes: spawn, the "xla" process group, collectives."""

import os
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")


def run(folder, text, *options, variables=None):
    """Sorted lines that a script prints under `neuron-sim run`; it must end well."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(text))
    command = [sys.executable, "-W", "ignore", "-m", "neuron_sim", "run", *options, str(script)]
    # With buffers, a process writes its lines at once, and those of two do not mix.
    buffered = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}
    environment = {**os.environ, **buffered, **(variables or {})}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    assert result.returncode == 0, result.stderr
    return sorted(result.stdout.splitlines())


COLLECTIVES = """
    import torch
    import torch_xla.core.xla_model as xm
    import torch_xla.distributed.xla_multiprocessing as xmp
    import torch_xla.runtime as xr

    def main(index, word):
        rank, x = xr.global_ordinal(), torch.arange(4.0).reshape(2, 2) + 10 * xr.global_ordinal()
        assert (index, xr.world_size(), xm.is_master_ordinal()) == (rank, 2, rank == 0)
        x = x.to("xla")
        both = [torch.arange(4.0).reshape(2, 2), torch.arange(4.0).reshape(2, 2) + 10]
        total = both[0] + both[1]
        assert torch.equal(xm.all_reduce("sum", x, scale=0.5).cpu(), total / 2)
        assert torch.equal(xm.all_reduce("max", x, groups=[[0], [1]]), x)
        same = x.clone()
        xm.all_reduce(xm.REDUCE_SUM, [same])
        assert torch.equal(same.cpu(), total)
        for dim in (0, 1):
            assert torch.equal(xm.all_gather(x, dim=dim).cpu(), torch.cat(both, dim))
            share = xm.reduce_scatter("sum", x, 2.0, dim, 2)
            assert torch.equal(share.cpu(), 2 * total.chunk(2, dim)[rank])
        exchanged = xm.all_to_all(x, 0, 1, 2)
        assert torch.equal(exchanged.cpu(), torch.cat([y.chunk(2, 0)[rank] for y in both], 1))
        assert xm.mesh_reduce("tag", {"rank": rank}, len) == 2
        assert xm.rendezvous("tag", str(rank).encode()) == [b"0", b"1"]
        model = torch.nn.Linear(2, 2).to("xla")
        model.weight.data.fill_(rank)
        xm.broadcast_master_param(model)
        assert model.weight.sum().item() == 0
        model(x).sum().backward()
        own = model.weight.grad.clone()
        xm.reduce_gradients(torch.optim.SGD(model.parameters(), lr=1.0))
        expected = sum(y.sum(0).expand(2, 2) for y in both) / 2
        assert torch.equal(model.weight.grad.cpu(), expected)
        assert not torch.equal(own.cpu(), expected)
        xm.save({"rank": rank}, "checkpoint.pt")
        assert torch.load("checkpoint.pt") == {"rank": 0}
        try:
            xm.all_reduce("mean", x)
        except ValueError as error:
            print(error)
        xm.master_print(word)

    if __name__ == "__main__":
        xmp.spawn(main, args=("done",), nprocs=2)
"""


def test_spawned_processes_take_part_in_every_collective(tmp_path):
    assert run(tmp_path, COLLECTIVES) == [
        "done",
        *["torch_xla has no reduction 'mean'; there are sum, mul, and, or, min, max"] * 2,
    ]


SCRIPT = """
    import sys
    import torch, torch_xla
    import torch_xla.runtime as xr
    import torch_xla.distributed.xla_backend

    def main(index):
        torch.distributed.init_process_group("xla", init_method="xla://")
        x = torch.ones(2, device="xla")
        assert torch.get_device_module(x.device).is_initialized()
        torch.distributed.all_reduce(x)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1).to("xla"))
        model(x * (1 + xr.local_ordinal())).sum().backward()
        # torchrun's workers have no buffers: one write keeps a line whole.
        sys.stdout.write(f"{index} {x.tolist()} {model.module.weight.grad.tolist()}\\n")

    if __name__ == "__main__":
        torch_xla.launch(main)
"""


def test_a_script_meets_its_process_group_with_and_without_torchrun(tmp_path):
    expected = [f"{rank} [2.0, 2.0] [[3.0, 3.0]]" for rank in (0, 1)]
    assert run(tmp_path, SCRIPT, variables={"NEURONCORE_NUM_DEVICES": "2"}) == expected
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert run(tmp_path, SCRIPT, *torchrun) == expected
