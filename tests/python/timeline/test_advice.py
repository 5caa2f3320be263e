"""Advice: bounds, the roofline, what twice as fast would save, published thresholds."""

import pytest
from neuron_sim import _core
from neuron_sim.timeline import advice_text, advise
from neuron_sim.timeline.advice import bound_text, roofline_text
from neuron_sim.timeline.changes import LEAST_SAVED, Change
from neuron_sim.timeline.thresholds import CONTIGUOUS_BYTES
from neuron_sim.timeline.what_if import overlay, resources, scaled
from recorded_programs import chain, product


def loads(width: int, partitions: int = 128, count: int = 8):
    """Transfers of `width` fp32 per partition, each to its own tile."""
    builder = _core.Builder("loads", "trn2")
    x = builder.argument("x", [count, partitions, width])
    for i in range(count):
        tile = builder.sbuf(f"tile{i}", [partitions, width])
        builder.dma_copy(tile, x[i])
    return builder.finish()


def titles(program) -> set[str]:
    return {finding.title for finding in advise(program).findings}


def test_an_unchanged_overlay_changes_no_time(tmp_path):
    path = tmp_path / "same.toml"
    for seed in range(6):  # of all architectures
        program = chain(seed)
        path.write_text(overlay(program, {}))
        assert program.time(architecture=str(path)) == program.time()


def test_rates_double_and_times_halve():
    facts = _core.architecture_facts("trn2")
    faster = scaled(facts, "DMA engines")
    assert faster["dma.bytes_per_nanosecond"] == 2 * facts["dma.bytes_per_nanosecond"]["value"]
    assert faster["dma.packet"] == facts["dma.packet"]["value"] / 2
    assert all(key.startswith("semaphore.") for key in scaled(facts, "semaphores"))
    every = [key for resource in resources() for key in scaled(facts, resource)]
    assert len(every) == len(set(every)), "no fact belongs to two resources"


def test_what_twice_as_fast_saves_is_the_time_of_the_faster_hardware():
    builder = _core.Builder("vector", "trn2")
    tile = builder.sbuf("tile", [128, 512])
    builder.memset(tile, 1.0, engine="vector")
    builder.loop(50, lambda _: builder.tensor_copy(tile, tile, engine="vector"))
    saved = {each.resource: each for each in advise(builder.finish()).what_if}
    assert 0.3 < saved["Vector engine"].saved < 0.5  # latencies in nanoseconds stay
    for resource in ("Tensor engine", "Scalar engine", "HBM bandwidth", "DMA engines"):
        assert saved[resource].saved == 0
    assert next(iter(saved)) == "Vector engine"


def test_hbm_twice_as_fast_saves_nothing_where_the_dma_engines_are_the_limit():
    advice = advise(loads(4096))
    saved = {each.resource: each.saved for each in advice.what_if}
    assert saved["HBM bandwidth"] == 0 and saved["DMA engines"] > 0.3
    assert "at most 435.2 GB/s (16 DMA engines give 435.2 GB/s, HBM 716)" in advice.roofline


@pytest.mark.parametrize("bytes_of_row, found", [(CONTIGUOUS_BYTES - 4, True), (2048, False)])
def test_small_transfers_are_those_below_two_kibibytes(bytes_of_row, found):
    assert ("Small DMA transfers" in titles(loads(bytes_of_row // 4))) == found


@pytest.mark.parametrize("partitions, found", [(127, True), (128, False)])
def test_unused_partitions_are_found(partitions, found):
    builder = _core.Builder("few", "trn2")
    tile = builder.sbuf("tile", [partitions, 512])
    builder.memset(tile, 1.0)
    assert ("Partitions unused" in titles(builder.finish())) == found


def test_partitions_are_unused_below_those_of_the_architecture(tmp_path):
    wide = tmp_path / "wide.toml"
    wide.write_text('base = "trn2"\n"limits.partitions" = "2x"\n')
    builder = _core.Builder("half", str(wide))
    builder.memset(builder.sbuf("tile", [128, 512]), 1.0)
    found = advise(builder.finish()).findings
    assert "fewer than 256 partitions" in next(
        each.text for each in found if each.title == "Partitions unused"
    )


@pytest.mark.parametrize("width, found", [(127, True), (128, False)])
def test_short_tiles_are_those_below_128_elements(width, found):
    builder = _core.Builder("short", "trn2")
    builder.memset(builder.sbuf("tile", [128, width]), 1.0)
    assert ("Short tiles" in titles(builder.finish())) == found


def test_weights_that_stay_are_not_called_loaded_again():
    assert "Weights loaded again and again" not in titles(product(loops=6))
    builder = _core.Builder("reload", "trn2")
    a, b = (builder.sbuf(name, [128, 512], "bfloat16") for name in "ab")
    total = builder.psum("total", [128, 512])
    for tile in (a, b):
        builder.memset(tile, 1.0)

    def body(_):
        builder.nc_matmul(total, a[:, :128], a, accumulate=False)
        builder.nc_matmul(total, b[:, :128], a, accumulate=False)

    builder.loop(4, body)
    assert "Weights loaded again and again" in titles(builder.finish())


def test_the_path_adds_up_and_the_text_says_everything():
    advice = advise(product())
    assert sum(advice.path.values()) == pytest.approx(1)
    text = advice_text(advice)
    assert advice.bound in text and advice.roofline in text
    saving = [each.resource for each in advice.what_if if each.saved >= LEAST_SAVED]
    rows = [line.split("  ") for line in text.splitlines() if line.startswith("  ") and "%" in line]
    assert saving and [row[1] for row in rows] == saving
    assert all(finding.source in text for finding in advice.findings)


def test_changes_come_first_each_with_its_next_wall_and_its_lesson():
    change = Change("Load once", "load before the loop.", "k.py:7", 4.0, 0.5, "Tensor", "a: 1", "b")
    lines = advice_text(advise(product(), changes=[change])).splitlines()
    first = "1. Load once (saves 50.0%, to 4 us): load before the loop. Then the wall is Tensor."
    assert lines[1:3] == [first, "   (a: 1: b)"]
    assert "No change that was tried saves 1%." in advice_text(advise(product(), changes=[]))
    assert "change" not in advice_text(advise(product()))


def test_resources_that_save_nothing_are_not_listed():
    text = advice_text(advise(_core.Builder("nothing", "trn2").finish()))
    assert "Twice as fast would save: less than 1%, whichever resource it is" in text


def test_bounds_follow_the_published_shares():
    facts = _core.architecture_facts("trn2")
    shares = {"Tensor": 0.0, "Vector": 0.9, "Scalar": 0.1, "GpSimd": 0.0, "Sync": 0.0, "DMA": 0.2}
    timing = {"body_us": 1.0, "utilisation": shares}
    idle = {"hbm_read_bytes": 0, "hbm_write_bytes": 0}
    assert bound_text(timing, idle, facts).startswith("Bound by Vector:")
    shares["Vector"] = 0.89
    assert bound_text(timing, idle, facts).startswith("Bound by no unit alone")
    busy = {"hbm_read_bytes": 429_600, "hbm_write_bytes": 0}  # 60 % of 716 GB/s for 1 us
    assert bound_text(timing, busy, facts).startswith("Bound by data movement:")
    shares["Vector"] = 0.4
    assert bound_text(timing, idle, facts).startswith("Bound by waiting")


def test_the_roofline_has_its_ridge_where_peak_and_bandwidth_meet():
    facts = _core.architecture_facts("trn2")
    peak = 2 * 128 * 128 * facts["clocks.tensor"]["value"] * 1e9
    moved = 10**9
    ridge = peak / 435.2e9 * moved / 2  # multiply-accumulates
    for factor, side in ((0.99, "data movement"), (1.01, "the peak of the Tensor engine")):
        counters = {
            "hbm_read_bytes": moved,
            "hbm_write_bytes": 0,
            "multiply_accumulates": int(ridge * factor),
        }
        assert f"limited by {side};" in roofline_text({"body_us": 1e4}, counters, facts)


def test_two_cores_have_twice_the_bandwidth():
    builder = _core.Builder("pair", "trn2")
    data = builder.argument("data", [128, 2048])
    for core in (0, 1):
        builder.core(core, lambda: builder.dma_copy(builder.sbuf("tile", [128, 2048]), data))
    assert "(32 DMA engines give 870.4 GB/s, HBM 1432)" in advise(builder.finish()).roofline


def test_a_program_of_nothing_gets_advice_too():
    advice = advise(_core.Builder("nothing", "trn2").finish())
    assert advice.roofline == "Nothing ran." and advice.path == {} and advice.findings == []
