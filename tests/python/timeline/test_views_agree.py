"""The same numbers in every view of a run: counters and times of the program, the summary, the
tables, Perfetto's file and the page."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from neuron_sim.nki.measurement.recorded import profile_of
from neuron_sim.nki.measurement.tables.run_profile import EventKind
from neuron_sim.nki.measurement.tables.summary import summary_of
from neuron_sim.nki.measurement.views import page_of
from page_content import unpacked
from recorded_programs import chain, product, two_cores
from test_perfetto_file import PerfettoFile

parquet = pytest.importorskip("neuron_sim.nki.measurement.parquet")

ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")


PROGRAMS = {
    "products in a loop": lambda: product(5),
    "two cores": two_cores,
    **{f"random {seed}": lambda seed=seed: chain(seed) for seed in range(12)},
}


@pytest.fixture(params=PROGRAMS, scope="module")
def views(request):
    program = PROGRAMS[request.param]()
    kernel = SimpleNamespace(program=program, time=program.time)
    profile = profile_of(kernel)
    header, columns = unpacked(page_of(profile))
    return SimpleNamespace(
        program=program, timing=program.time(), counters=program.counters(), profile=profile,
        summary=summary_of(profile), tables=parquet.arrow_tables(profile),
        perfetto=PerfettoFile(program.perfetto()), page=header, columns=columns,
    )  # fmt: skip


def total(table, name, **only):
    """The sum of a column, of rows whose other columns have those values."""
    rows = np.ones(table.num_rows, bool)
    for column, value in only.items():
        rows &= np.array(table[column].to_pylist(), object) == value
    return sum(each or 0 for each, ours in zip(table[name].to_pylist(), rows, strict=True) if ours)


def slices(perfetto, chosen):
    """(name, annotations) of the slices on the tracks whose titles are chosen."""
    return [
        (name, values)
        for track, found in perfetto.slices.items()
        if chosen(perfetto.title(track))
        for name, _, _, values, _ in found
    ]


def test_the_body(views):
    body = round(views.timing["body_us"] * 1e6)  # picoseconds
    [execution] = views.tables["ExecutionInfo"].to_pylist()
    start, end = execution["execution_start_ts"], execution["execution_end_ts"]
    [phase] = [values for name, values in slices(views.perfetto, lambda _: True) if name == "body"]
    assert round(views.summary["total_exec_time"] * 1e12) == body
    assert phase["duration_ps"] == views.page["body"] == body
    assert abs((end - start) - body / 1000) < 1
    launch = round(views.timing["profile_us"] * 1e6)
    assert round(views.summary["total_time"] * 1e12) == launch
    assert views.tables["Summary"]["total_time"][0].as_py() == pytest.approx(launch * 1e-12)


def test_busy_times_of_engines(views):
    cores, active = views.page["cores"], views.tables["ActiveTime"]
    for engine in ENGINES:
        busy = views.page["busy"][engine]
        of_engine = [
            i for i, each in enumerate(views.page["names"]["instructions"])
            if each["engine"] == engine
        ]  # fmt: skip
        kinds = views.columns["instance_instruction"][views.columns["event_instance"]]
        ours = np.isin(kinds, of_engine) & (views.columns["event_kind"] != EventKind.TRANSFER)
        assert views.columns["event_busy"][ours].sum() == busy
        share = views.timing["utilisation"][engine] * views.timing["body_us"] * 1e6
        assert share * cores == pytest.approx(busy, abs=1)
        summary = views.summary[f"{engine.lower()}_engine_active_time"]
        assert summary * cores * 1e12 == pytest.approx(busy, abs=1)
        rows = active["engine"].to_pylist().count(engine.lower())
        assert abs(total(active, "duration_ns", engine=engine.lower()) - busy / 1000) <= rows


def test_instruction_counts(views):
    known = views.page["names"]["instructions"]
    executed = Counter(known[kind]["engine"] for kind in views.columns["instance_instruction"])
    table = Counter(views.tables["Instruction"]["engine"].to_pylist())
    assert {name: executed[name] for name in ENGINES} == views.timing["engine_instructions"]
    for engine, count in views.timing["engine_instructions"].items():
        low = engine.lower()
        assert views.summary[f"{low}_engine_instruction_count"] == table[low] == count
        by_opcode = views.tables["OpcodeSummary"]
        assert total(by_opcode, "instruction_count", engine=low) == count
    products = views.tables["Instruction"]["tensor_instruction_type"].to_pylist()
    assert sum(each is not None for each in products) == views.counters["matmul_instructions"]
    steps = views.program.steps()
    shown = slices(views.perfetto, lambda _: True)
    assert sum("visible_ps" in values for _, values in shown) == len(steps)
    assert len(views.columns["event_kind"]) == len(steps)
    kinds = [EventKind(kind).name.lower() for kind in views.columns["event_kind"]]
    assert kinds == [step["kind"] for step in steps]


def test_transfers_and_their_bytes(views):
    tables, count, moved = views.tables, views.timing["dma_transfers"], views.timing["dma_bytes"]
    transfers, packets = tables["DmaPacketAggregated"], tables["DmaPacket"]
    on_page = views.columns["event_kind"] == EventKind.TRANSFER
    queues = slices(views.perfetto, lambda title: title.startswith("q") and "ring" not in title)
    rings = slices(views.perfetto, lambda title: ", ring " in title)
    assert transfers.num_rows == views.summary["dma_transfer_count"] == count
    assert on_page.sum() == len(queues) == count
    assert total(transfers, "transfer_bytes") == total(packets, "transfer_bytes") == moved
    assert views.columns["event_bytes"][on_page].sum() == moved
    assert views.columns["share_bytes"].sum() == moved
    for shown in (queues, rings):
        assert sum(values.get("bytes", 0) for _, values in shown) == moved
    assert views.summary["dma_transfer_total_bytes"] == moved
    usage = tables["DmaUsage"]
    last = [
        max(total_ for total_, core in zip(usage["total_transfer_bytes"].to_pylist(),
                                           usage["pcore_idx"].to_pylist(), strict=True)
            if core == each)
        for each in range(views.page["cores"])
    ]  # fmt: skip
    assert sum(last) == moved
    queue_names = set(transfers["queue_name"].to_pylist())
    assert queue_names == {track["queue"] for track in views.page["names"]["tracks"]
                           if track["kind"] == "queue"}  # fmt: skip
    assert queue_names == {title.partition(",")[0] for title in map(
        views.perfetto.title, views.perfetto.slices) if title.startswith("q")}  # fmt: skip


@pytest.mark.parametrize("memory", ["hbm", "sbuf", "psum"])
@pytest.mark.parametrize("way", ["read", "write"])
def test_bytes_of_memories(views, memory, way):
    name = f"{memory}_{way}_bytes"
    expected = views.counters[name]
    assert views.summary[name] == expected
    assert total(views.tables["Instruction"], name) == expected
    assert views.tables["Summary"][name][0].as_py() == expected
    if memory == "hbm":
        usage = views.tables["HbmUsage"]
        moved = sum(
            max(each for each, core in zip(usage["total_transfer_bytes"].to_pylist(),
                                           usage["pcore_idx"].to_pylist(), strict=True)
                if core == number)
            for number in range(views.page["cores"])
        )  # fmt: skip
        assert moved == views.counters["hbm_read_bytes"] + views.counters["hbm_write_bytes"]


def test_operations(views):
    raw = total(views.tables["Instruction"], "raw_flops")
    transposes = total(views.tables["Instruction"], "flops_transpose")
    assert raw == views.summary["hardware_flops"]
    assert transposes == views.summary["transpose_flops"]
    assert raw - transposes == 2 * views.counters["multiply_accumulates"]
    adjusted = total(views.tables["Instruction"], "adjusted_flops")
    assert adjusted == views.summary["adjusted_hardware_flops"]


def test_pending_transfers(views):
    table, numbers = views.tables["PendingDma"], {}
    for index, counter in enumerate(views.page["counters"]):
        if counter["name"] == "pending DMA":
            numbers[counter["core"]] = views.columns[f"counter_value_{index}"].tolist()
    for core, values in numbers.items():
        ours = [value for value, number in zip(table["value"].to_pylist(),
                                               table["pcore_idx"].to_pylist(), strict=True)
                if number == core]  # fmt: skip
        assert ours == values
    samples = [
        [value for _, value in views.perfetto.counters[track]]
        for track in views.perfetto.counters
        if views.perfetto.title(track) == "pending DMA"
    ]
    assert sorted(samples) == sorted(numbers.values())
    assert all(values[-1] == 0 and max(values) >= 1 for values in numbers.values())
