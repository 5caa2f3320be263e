"""Two runs and their differences, against what the simulator says of each."""

import json
import subprocess
import sys

import pytest
from neuron_sim import _core
from neuron_sim.command_line import main
from neuron_sim.timeline import (
    compare_runs,
    comparison_page,
    read_timeline,
    record_run,
    write_comparison,
    write_timeline,
)
from page_content import all_unpacked, differences
from recorded_programs import chain, column, product


def figures(first, second, group):
    """(A, B) by name and unit of the rows of a group."""
    rows = compare_runs(record_run(first), record_run(second))
    return {(r.name, r.unit): (r.first, r.second) for r in rows if r.group == group}


def of_lines(file, lines):
    """Additions, one for each of these lines of a file; the line is that of its index."""
    file.write_text("\n".join(lines) + "\n")
    builder = _core.Builder("lines", "trn2")
    x, y = (builder.argument(name, [128, 512]) for name in "xy")
    tile = builder.sbuf("tile", [128, 512])
    builder.dma_copy(tile, x)
    for number, line in enumerate(lines, 1):
        if "add" in line:
            builder.source_line(f"{file}:{number}")
            builder.tensor_tensor(tile, tile, tile, "add")
    builder.dma_copy(y, tile)
    return builder.finish()


@pytest.mark.parametrize("seed", range(6))
def test_a_run_does_not_differ_from_itself(seed):
    run = record_run(chain(seed))
    rows = compare_runs(run, run)
    assert {row.group for row in rows} >= {"time", "busy", "critical path", "total", "instruction"}
    assert all(row.change == 0 and row.first == row.second for row in rows)


@pytest.mark.parametrize("loops", [1, 6, 11])
def test_figures_are_those_of_the_simulator(loops):
    first, second = product(6), product(loops)
    programs = (first, second)
    timings = [program.time() for program in programs]
    recordings = [program.recording() for program in programs]
    times = figures(first, second, "time")
    for name, key in (("body", "body_us"), ("nc_latency", "latency_us"),
                      ("total_time", "profile_us")):  # fmt: skip
        assert times[name, "ps"] == tuple(round(timing[key] * 1e6) for timing in timings)
    busy = figures(first, second, "busy")
    assert {name for name, _ in busy} == set(recordings[0]["busy"])
    for (name, _), pair in busy.items():
        assert pair == tuple(recording["busy"][name] for recording in recordings)
    totals = figures(first, second, "total")
    for (name, unit), pair in totals.items():
        assert pair == tuple(program.counters()[name] for program in programs)
        assert (unit == "bytes") == name.endswith("_bytes")
    queues = figures(first, second, "DMA queue")
    for run, timing in enumerate(timings):
        moved = sum(pair[run] or 0 for (_, unit), pair in queues.items() if unit == "bytes")
        transfers = sum(pair[run] or 0 for (_, unit), pair in queues.items() if unit == "")
        assert (moved, transfers) == (timing["dma_bytes"], timing["dma_transfers"])
    counts = figures(first, second, "instruction")
    assert counts["nc_matmul", ""] == (6, loops)


def test_peaks_are_the_largest_samples():
    program = product()
    recording = program.recording()
    for (name, unit), (peak, _) in figures(program, program, "peak").items():
        number = [each["name"] for each in recording["counters"]].index(name)
        assert peak == column(recording, f"counter_value_{number}").max() > 0
        assert unit == recording["counters"][number]["unit"]


def test_what_one_run_lacks_is_none():
    builder = _core.Builder("nothing but a copy", "trn2")
    builder.dma_copy(builder.sbuf("tile", [128, 8]), builder.argument("x", [128, 8]))
    counts = figures(product(), builder.finish(), "instruction")
    assert counts["nc_matmul", ""] == (6, None) and counts["dma_copy", ""] == (7, 1)


def test_lines_that_moved_are_the_same_lines(tmp_path):
    before = of_lines(tmp_path / "before.py", ["one = add(x)", "two = add(one)"])
    after = of_lines(tmp_path / "after.py", ["# new", "one = add(x)", "more = add(one)", "",
                                             "two = add(one)"])  # fmt: skip
    rows = figures(before, after, "line")
    names = {name.split("  ")[1]: pair for (name, _), pair in rows.items()}
    assert set(names) == {"one = add(x) (after.py:2 in B)", "two = add(one) (after.py:5 in B)",
                          "more = add(one)"}  # fmt: skip
    assert names["more = add(one)"][0] is None and names["more = add(one)"][1] > 0
    shares = {each["source"]: each for each in before.shares_by_source()}
    for name, (first, second) in names.items():
        if first is None:
            continue
        number = 1 if name.startswith("one") else 2
        path = shares[f"{tmp_path}/before.py:{number}"]["path_us"]
        assert first == pytest.approx(sum(path.values()) * 1e6) and second is not None


def test_a_line_without_its_file_keeps_its_number():
    ((name, unit),) = figures(product(), product(), "line")
    assert (name, unit) == ("kernels.py:7", "ps")


def test_a_page_of_two_runs_holds_both_and_their_rows(tmp_path):
    first, second = record_run(product(6), title="six"), record_run(product(9), title="<nine>")
    write_comparison(first, second, tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text()
    assert page == comparison_page(first, second)
    assert [header["title"] for header, _ in all_unpacked(page)] == ["six", "<nine>"]
    expected = compare_runs(first, second)
    assert [(row["name"], row["first"], row["second"]) for row in differences(page)] == [
        (row.name, row.first, row.second) for row in expected
    ]
    with pytest.raises(ValueError, match="holds a comparison"):
        read_timeline(tmp_path / "both.html")


def test_a_page_is_read_as_it_was_written(tmp_path):
    write_timeline(product(), tmp_path / "page.html")
    read, recorded = read_timeline(tmp_path / "page.html"), record_run(product())
    assert read.header == json.loads(json.dumps(recorded.header))
    assert {name: list(values) for name, values in read.columns.items()} == {
        name: list(values) for name, values in recorded.columns.items()
    }


@pytest.mark.parametrize(("change", "error"), [
    (lambda page: "<html></html>", "is no timeline page"),
    (lambda page: page.replace("H4sI", "H4sJ", 1), "damaged"),
    (lambda page: page.replace("H4sI", "H4sIH", 1), "damaged"),
    (lambda page: page[: page.index("H4sI") + 400] + "</script>", "damaged"),
], ids=["no page", "a wrong byte", "a letter too many", "cut off"])  # fmt: skip
def test_other_files_are_refused(tmp_path, change, error):
    write_timeline(product(), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    (tmp_path / "page.html").write_text(change(text))
    with pytest.raises(ValueError, match=error):
        read_timeline(tmp_path / "page.html")


@pytest.fixture
def pages(tmp_path):
    for name, program in (("a", product(6)), ("b", product(9))):
        write_timeline(program, tmp_path / f"{name}.html")
    return [str(tmp_path / f"{name}.html") for name in "ab"]


def test_the_command_prints_what_differs_and_writes_the_page(pages, tmp_path, capsys):
    both = tmp_path / "both.html"
    assert main(["compare", *pages, "--timeline", str(both)]) == 0
    out = capsys.readouterr().out
    assert "A: product (a.html), trn2" in out and "nc_matmul" in out
    matmul = next(line.split() for line in out.splitlines() if "nc_matmul" in line)
    assert matmul == ["instruction", "nc_matmul", "6", "9", "3", "1.5"]
    assert "hbm_read_bytes" not in out  # equal in both
    assert f"nc_latency {product(6).time()['latency_us']:.4g} us, bound by latency; " in out
    headers = [header for header, _ in all_unpacked(both.read_text())]
    assert [each["title"] for each in headers] == ["product (a.html)", "product (b.html)"]
    assert main(["compare", *pages, "--all"]) == 0
    assert "hbm_read_bytes" in capsys.readouterr().out


def test_the_exit_code_says_whether_runs_differ_when_asked(pages, capsys):
    first, second = pages
    assert main(["compare", first, second, "--exit-code", "--json"]) == 1
    captured = capsys.readouterr()
    assert any(row["change"] for row in json.loads(captured.out)) and captured.err == ""
    assert main(["compare", first, first, "--exit-code"]) == 0


def test_the_command_prints_exact_json(pages, capsys):
    assert main(["compare", *pages, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    body = next(row for row in rows if row["name"] == "body")
    assert body["first"] == round(product(6).time()["body_us"] * 1e6)
    assert body["change"] == body["second"] - body["first"]
    assert body["ratio"] == body["second"] / body["first"]


def test_the_command_refuses_what_is_no_page(pages, tmp_path, capsys):
    (tmp_path / "text.txt").write_text("hello")
    assert main(["compare", pages[0], str(tmp_path / "text.txt")]) == 2
    assert "text.txt is no timeline page: it has no recording." in capsys.readouterr().err
    assert main(["compare", pages[0], str(tmp_path / "missing")]) == 2
    assert "missing" in capsys.readouterr().err


def test_help_names_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "neuron_sim", "--help"], capture_output=True, text=True
    )
    assert "compare two runs by their timeline pages" in done.stdout


def test_a_long_line_of_a_kernel_is_cut_unless_all_is_asked_for(tmp_path, capsys):
    code = f"add(x, {'y' * 200})"
    for name, lines in (("a", [code]), ("b", [code, f"{code[:-2]}add)"])):
        write_timeline(of_lines(tmp_path / f"{name}.py", lines), tmp_path / f"{name}.html")
    both = [str(tmp_path / f"{name}.html") for name in "ab"]
    assert main(["compare", *both]) == 0
    table = capsys.readouterr().out.splitlines()[4:]
    assert max(map(len, table)) <= 100 and any("add(x, yyy" in line for line in table)
    assert main(["compare", *both, "--all"]) == 0
    assert code in capsys.readouterr().out
