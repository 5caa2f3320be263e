"""neuron_sim._core: simulated times, traces and listings of every kernel, without torch."""

import subprocess
import sys

import pytest
from neuron_sim import _core
from test_perfetto_file import PerfettoFile

SHAPES = {
    "vector_add": [[300], [300]], "matmul": [[70, 50], [50, 90]], "transpose": [[70, 50]],
    "bias_add_activation": [[7, 50], [50]], "conv2d_maxpool": [[1, 3, 8, 8], [4, 3, 3, 3], [4]],
    "ffnn_forward": [[5, 8], [8, 6], [6, 4], [6], [4]],
    "ffnn_predict": [[5, 8], [8, 6], [6, 4], [6], [4]],
    "bias_add_activation_backward": [[7, 50], [7, 50], [50]],
    "conv2d_input_gradient": [[1, 4, 6, 6], [4, 3, 3, 3], [1, 3, 8, 8]],
    "conv2d_weight_gradient": [[1, 4, 6, 6], [1, 3, 8, 8], [4, 3, 3, 3]],
    "maxpool_activation_backward": [[1, 4, 6, 6], [1, 4, 6, 6]],
}  # fmt: skip
ARCHITECTURES = ["trn1", "trn2", "trn3"]


def in_new_process(program: str) -> str:
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


# Timing, traces, listings


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kernel", SHAPES)
def test_every_kernel_is_timed_on_every_architecture(kernel, architecture):
    timing = _core.time_kernel(kernel, SHAPES[kernel], "bfloat16", architecture)
    facts = _core.architecture_facts(architecture)
    launch = facts["launch.benchmark"]["value"]
    if timing["software_descriptors"]:
        launch += facts["launch.benchmark_software"]["value"]
    assert facts["launch.benchmark"]["unit"] == "ns"
    assert timing["body_us"] > 0
    assert timing["latency_us"] - timing["body_us"] == pytest.approx(launch / 1000)
    assert timing["profile_us"] > timing["body_us"]
    assert timing["instructions"] > 0 and timing["dma_transfers"] > 0
    shares = timing["utilisation"]
    assert set(shares) == {"Tensor", "Vector", "Scalar", "GpSimd", "Sync", "DMA"}
    assert all(0 <= share <= 1 for share in shares.values())
    busiest = max(shares, key=lambda name: shares[name])
    assert timing["bottleneck"] == (busiest if shares[busiest] >= 0.5 else "latency")


def test_the_bytes_of_a_vector_addition_are_two_loads_and_a_store():
    for dtype, size in (("float32", 4), ("bfloat16", 2), ("int8", 1)):
        timing = _core.time_kernel("vector_add", [[25600], [25600]], dtype)
        assert timing["dma_bytes"] == 3 * 25600 * size
        assert timing["dma_transfers"] == 3


def test_more_work_takes_longer():
    def time(size: int) -> float:
        return _core.time_kernel("matmul", [[size, size], [size, size]])["body_us"]

    assert time(128) < time(256) < time(512) < time(1024)


def test_options_decide_the_program():
    def time(options: dict) -> float:
        return _core.time_kernel("vector_add", [[25600], [25600]], options=options)["body_us"]

    tiled = time({"variant": "tiled"})
    assert time({}) == time({"variant": "stream", "free_dim": 0}) < tiled
    assert tiled == time({"variant": "tiled", "row_chunk": 128})
    assert tiled == time({"variant": "tiled", "row_chunk": "128"})
    assert tiled < time({"variant": "tiled", "row_chunk": 64})


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kernel", SHAPES)
def test_a_trace_holds_every_instruction_within_the_body(kernel, architecture):
    arguments = (kernel, SHAPES[kernel], "float32", architecture)
    trace = PerfettoFile(_core.build_kernel(*arguments).perfetto())
    timing = _core.time_kernel(*arguments)
    slices = [each for track in trace.slices.values() for each in track]
    values = [annotations for _, _, _, annotations, _ in slices]
    assert sum("visible_ps" in each for each in values) >= timing["instructions"]
    assert min(begin for _, begin, *_ in slices) == 0
    [body] = [annotations for name, _, _, annotations, _ in slices if name == "body"]
    assert body["duration_ps"] == round(timing["body_us"] * 1e6)
    assert max(each.get("visible_ps", 0) for each in values) == body["duration_ps"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kernel", SHAPES)
def test_a_listing_names_kernel_architecture_and_instructions(kernel, architecture):
    program = _core.build_kernel(kernel, SHAPES[kernel], "float32", architecture)
    lines = program.listing().splitlines()
    assert lines[0] == f"kernel {kernel} for {architecture}"
    known = set(_core.instructions())
    operations = [line.split("(")[0].split()[-1] for line in lines[1:] if "(dst=" in line]
    assert operations and set(operations) <= known | {"dma_copy"}


def test_two_processes_give_the_same_numbers():
    program = (
        "import neuron_sim._core as core\n"
        f"for kernel, shapes in {SHAPES!r}.items():\n"
        "    for architecture in core.architectures():\n"
        "        print(core.time_kernel(kernel, shapes, 'float32', architecture))\n"
        "        program = core.build_kernel(kernel, shapes, 'float32', architecture)\n"
        "        print(program.perfetto(), program.listing())\n"
    )
    first = in_new_process(program)
    assert first == in_new_process(program)
    assert str(_core.time_kernel("matmul", SHAPES["matmul"])) in first
