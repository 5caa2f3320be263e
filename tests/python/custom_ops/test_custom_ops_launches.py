"""Launch records, traces, the kernel cache and host threads."""

import threading
from functools import partial

import pytest
import torch
from custom_ops_oracle import OPS, values
from device_type import DEVICE_TYPE
from test_perfetto_file import PerfettoFile


def device_values(*shape, dtype=torch.float32, seed=1, device=f"{DEVICE_TYPE}:0"):
    return values(shape, dtype, seed).to(device)


def misses(call):
    """How many kernels `call` compiled."""
    before = torch.neuron_sim.kernel_cache_info()
    call()
    after = torch.neuron_sim.kernel_cache_info()
    return after.misses - before.misses


def test_a_record_says_what_ran_where_and_how_long():
    a = device_values(100, 60, device=f"{DEVICE_TYPE}:1")
    b = device_values(60, 30, device=f"{DEVICE_TYPE}:1")
    with torch.neuron_sim.record_launches() as launches:
        OPS.matmul(a, b)
        OPS.transpose(a)
    OPS.transpose(a)
    assert [launch.name for launch in launches] == ["matmul", "transpose"]
    first, second = launches
    assert first.shapes == "a [100, 60] float32, b [60, 30] float32 -> out [100, 30] float32"
    assert first.device == 1
    assert 0 < first.body_us < first.latency_us
    assert first.end_us - first.start_us == pytest.approx(first.latency_us)
    assert second.start_us >= first.end_us
    assert set(first.utilisation) == {"Tensor", "Vector", "Scalar", "GpSimd", "Sync", "DMA"}
    assert all(0 <= share <= 1 for share in first.utilisation.values())
    assert first.utilisation["Tensor"] > 0
    assert first.bottleneck in {*first.utilisation, "latency"}
    assert first.dma_transfers >= 3
    assert first.dma_bytes >= 4 * (100 * 60 + 60 * 30 + 100 * 30)
    assert first.instructions > first.dma_transfers


def test_recordings_may_be_nested_and_see_other_threads():
    x = device_values(8)
    with torch.neuron_sim.record_launches() as outer:
        OPS.vector_add(x, x)
        with torch.neuron_sim.record_launches() as inner:
            thread = threading.Thread(target=OPS.vector_add, args=(x, x))
            thread.start()
            thread.join()
        OPS.vector_add(x, x)
    assert (len(outer), len(inner)) == (3, 1)


def test_a_recording_ends_with_its_block_even_by_an_error():
    x = device_values(8)
    with pytest.raises(ZeroDivisionError), torch.neuron_sim.record_launches() as launches:
        OPS.vector_add(x, x)
        raise ZeroDivisionError
    OPS.vector_add(x, x)
    assert len(launches) == 1


def test_empty_results_and_cpu_calls_launch_nothing():
    with torch.neuron_sim.record_launches() as launches:
        assert OPS.matmul(device_values(0, 4), device_values(4, 5)).shape == (0, 5)
        OPS.vector_add(torch.ones(3), torch.ones(3))
    assert launches == []


def test_a_perfetto_file_has_every_step_of_the_launch(tmp_path):
    with torch.neuron_sim.record_launches() as launches:
        OPS.matmul(device_values(200, 60), device_values(60, 30))
    launches[0].write_perfetto(tmp_path / "launch.pftrace")
    trace = PerfettoFile((tmp_path / "launch.pftrace").read_bytes())
    slices = [each for track in trace.slices.values() for each in track]
    steps = [values for _, _, _, values, _ in slices if "visible_ps" in values]
    assert len(steps) >= launches[0].instructions
    [body] = [values for name, _, _, values, _ in slices if name == "body"]
    assert body["duration_ps"] == round(launches[0].body_us * 1e6)
    ends = [each["start_ps"] + each["duration_ps"] for each in steps]
    assert 0 < max(ends) <= body["duration_ps"]
    assert any("Tensor" in trace.title(track) for track in trace.slices)


def test_a_launch_writes_its_page_its_perfetto_file_and_its_advice(tmp_path):
    with torch.neuron_sim.record_launches() as launches:
        OPS.matmul(device_values(200, 60), device_values(60, 30))
    launches[0].write_timeline(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"<title>matmul: {launches[0].shapes}".replace(">", "&gt;") in page.replace(">", "&gt;")
    launches[0].write_perfetto(tmp_path / "launch.pftrace")
    assert b"nc_matmul" in (tmp_path / "launch.pftrace").read_bytes()
    assert launches[0].advice().startswith("matmul on ")
    with pytest.raises(FileNotFoundError, match="missing/page.html"):
        launches[0].write_timeline(tmp_path / "missing" / "page.html")


def test_a_record_shows_what_matters_and_reads_the_rest_when_asked():
    with torch.neuron_sim.record_launches() as launches:
        OPS.transpose(device_values(3, 4))
    shown = repr(launches[0])
    assert "name='transpose'" in shown and "device=0" in shown and "latency_us=" in shown
    assert launches[0].utilisation is not launches[0].utilisation
    assert launches[0].overlapping_tiles == [] and launches[0].overlap_lost_us == 0


def test_a_long_recording_keeps_the_programs_of_its_last_kernels_only(tmp_path):
    x = device_values(1200)
    with torch.neuron_sim.record_launches() as launches:
        for size in range(1, 1101):
            x[:size].neg()  # a kernel of its own
            x.neg()
    assert len(launches) == 2200
    assert len({launch.shapes for launch in launches}) == 1101
    assert all(launch.body_us > 0 and launch.instructions > 0 for launch in launches)
    with pytest.raises(RuntimeError, match="keeps those of its last 1024 different kernels"):
        launches[0].write_perfetto(tmp_path / "launch.pftrace")
    launches[-2].write_perfetto(tmp_path / "launch.pftrace")
    assert b"visible_ps" in (tmp_path / "launch.pftrace").read_bytes()


def test_a_repeated_call_is_a_hit_on_any_device_and_with_any_data():
    OPS.matmul(device_values(33, 44), device_values(44, 55))
    before = torch.neuron_sim.kernel_cache_info()
    OPS.matmul(device_values(33, 44, seed=7), device_values(44, 55, seed=8))
    OPS.matmul(
        device_values(33, 44, device=f"{DEVICE_TYPE}:1"),
        device_values(44, 55, device=f"{DEVICE_TYPE}:1"),
    )
    after = torch.neuron_sim.kernel_cache_info()
    assert after[:3] == (before.hits + 2, before.misses, before.kernels)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: (OPS.vector_add, (a, a), {}),
        lambda a: (OPS.vector_add, (a[:, :23], a[:, :23]), {}),  # shape and strides
        lambda a: (OPS.vector_add, (a.t().contiguous().t(), a), {}),  # strides of one operand
        lambda a: (OPS.vector_add, (a, a.t().contiguous().t()), {}),  # of the other
        lambda a: (OPS.vector_add, (a[:1].expand(22, 24), a), {}),  # stride 0
        lambda a: (OPS.vector_add, (a.half(), a.half()), {}),
        lambda a: (OPS.vector_add, (a.bfloat16(), a.bfloat16()), {}),  # same size, other dtype
        lambda a: (OPS.vector_add, (a.flatten(), a.flatten()), {}),  # same elements, other rank
        lambda a: (OPS.vector_add, (a, a), {"free_dim": 4}),
        lambda a: (OPS.vector_add, (a, a), {"variant": "tiled"}),
        lambda a: (OPS.vector_add, (a, a), {"variant": "tiled", "row_chunk": 64}),
        lambda a: (OPS.vector_add, (a, a), {"variant": "direct", "free_dim": 8}),
        lambda a: (OPS.vector_add, (a, a), {"free_dim": 8, "num_free_tiles": 3}),
        lambda a: (OPS.vector_add, (a, a), {"free_dim": 8, "base_addresses": [0]}),
        lambda a: (OPS.matmul, (a, a.t()), {"variant": "tiled"}),
        lambda a: (OPS.matmul, (a, a), {"transpose_x": True}),
        lambda a: (OPS.transpose, (a,), {"engine": "dma"}),
        lambda a: (OPS.bias_add_activation, (a, a[0], "relu"), {}),
        lambda a: (OPS.bias_add_activation, (a, a[0], "tanh"), {}),
    ],
)
def test_each_part_of_the_key_alone_makes_another_kernel(change):
    a = device_values(22, 24)
    torch.neuron_sim.clear_kernel_cache()
    OPS.vector_add(a, a, free_dim=8)
    OPS.bias_add_activation(a, a[0], "sigmoid")
    OPS.matmul(a, a.t())
    OPS.transpose(a)
    operator, arguments, options = change(a)
    assert misses(lambda: operator(*arguments, **options)) == 1
    assert misses(lambda: operator(*arguments, **options)) == 0


def test_each_option_of_a_convolution_and_a_network_makes_another_kernel():
    torch.neuron_sim.clear_kernel_cache()
    x, weight, bias = device_values(1, 2, 8, 8), device_values(2, 2, 1, 1), device_values(2)
    variations = [{}, {"stride": [2, 1]}, {"stride": [1, 2]}, {"padding": [2, 0]},
                  {"padding": [0, 2]}, {"activation": "relu"}]  # fmt: skip
    for options in variations:
        for pool in (1, 2):
            call = lambda: OPS.conv2d_maxpool(x, weight, bias, pool, **options)  # noqa: B023, E731
            assert misses(call) == 1, (options, pool)
            assert misses(call) == 0
    m = device_values(4, 4)
    networks = [([m], {}), ([m, m], {}), ([m], {"hidden_activation": "tanh"}),
                ([m], {"output_activation": "identity"})]  # fmt: skip
    for weights, options in networks:
        call = partial(OPS.ffnn_forward, m, weights, [m[0]] * len(weights), **options)
        assert misses(call) == 1
    assert misses(lambda: OPS.ffnn_predict(m, [m], [m[0]])) == 1


def test_a_refused_kernel_is_not_kept():
    large = device_values(1000)
    kernels = torch.neuron_sim.kernel_cache_info().kernels
    for _ in range(2):
        with pytest.raises(ValueError):
            OPS.vector_add(large, large, variant="naive")
    assert torch.neuron_sim.kernel_cache_info().kernels == kernels


def test_host_threads_change_neither_bytes_nor_simulated_time():
    threads = torch.neuron_sim.host_threads()
    a, b = device_values(300, 700), device_values(700, 600, seed=2)
    x, weight = device_values(2, 20, 30, 30), device_values(40, 20, 3, 3, seed=2)
    bias = device_values(40)
    runs = []
    try:
        for count in (1, 2, 1):
            torch.neuron_sim.set_host_threads(count)
            assert torch.neuron_sim.host_threads() == count
            torch.neuron_sim.clear_kernel_cache()  # the time is simulated anew
            with torch.neuron_sim.record_launches() as launches:
                outputs = [
                    OPS.vector_add(a, a),
                    OPS.matmul(a, b),
                    OPS.transpose(a),
                    OPS.bias_add_activation(a, b[:, 0], "softmax"),
                    OPS.conv2d_maxpool(x, weight, bias, 2, activation="gelu"),
                    OPS.ffnn_forward(a, [b], [b[0]]),
                ]
            data = [output.cpu().numpy().tobytes() for output in outputs]
            runs.append((data, [launch.latency_us for launch in launches]))
    finally:
        torch.neuron_sim.set_host_threads(threads)
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("threads", [0, -1, 257])
def test_a_number_of_host_threads_out_of_range_is_refused(threads):
    with pytest.raises(ValueError, match=str(threads)):
        torch.neuron_sim.set_host_threads(threads)


def test_streams_order_launches_in_simulated_time():
    x = device_values(64)
    stream = torch.Stream(device=f"{DEVICE_TYPE}:0")
    with torch.neuron_sim.record_launches() as launches:
        OPS.vector_add(x, x)
        with torch.neuron_sim.stream(stream):
            OPS.vector_add(x, x)
    assert launches[1].start_us >= launches[0].end_us  # one core
    event = torch.Event(device=f"{DEVICE_TYPE}:0")
    event.record(stream)
    event.synchronize()
    assert torch.neuron_sim.simulated_time(0) * 1e6 >= launches[1].end_us - 1e-6


def test_launches_from_several_threads_give_the_right_results():
    inputs = [device_values(200, 100, seed=i, device=f"{DEVICE_TYPE}:{i % 2}") for i in range(4)]
    results = [None] * 4

    def work(i):
        for _ in range(20):
            results[i] = OPS.matmul(inputs[i], inputs[i].t())

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for x, result in zip(inputs, results, strict=True):
        assert torch.equal(result, OPS.matmul(x, x.t()))
