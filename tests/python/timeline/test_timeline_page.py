"""The timeline page: what is in it, whatever a browser makes of it (test_timeline_browser.py)."""

import html
import re
import subprocess
import sys

import numpy as np
import pytest
from neuron_sim import settings
from neuron_sim.run import environment
from neuron_sim.timeline import InlineTimeline, timeline_page, write_timeline
from neuron_sim.timeline.recorded_run import sources_of
from page_content import unpacked
from recorded_programs import chain, column, product


@pytest.mark.parametrize("seed", range(20))
def test_columns_come_back_as_they_were_recorded(seed):
    program = chain(seed)
    recording = program.recording()
    _, columns = unpacked(timeline_page(program))
    assert columns.keys() == recording["columns"].keys()
    for name, values in columns.items():
        np.testing.assert_array_equal(values, column(recording, name))


@pytest.mark.parametrize("seed", range(20))
def test_numbers_of_page_and_timeline_are_equal(seed):
    program = chain(seed)
    timing = program.time()
    header, columns = unpacked(timeline_page(program))
    body, total = header["phases"]["body"], header["phases"]["total_time"]
    assert header["body"] == body[1] - body[0] == round(timing["body_us"] * 1e6)
    assert total[1] - total[0] == round(timing["profile_us"] * 1e6)
    assert sum(header["path"].values()) == header["body"]
    assert columns["event_bytes"].sum() == columns["share_bytes"].sum() == timing["dma_bytes"]
    assert len(columns["instance_instruction"]) == timing["instructions"]
    by_event = columns["instance_instruction"][columns["event_instance"]]
    for engine, busy in header["busy"].items():
        if engine == "DMA":
            assert columns["share_busy"].sum() == busy
            continue
        own = [each["engine"] == engine for each in header["names"]["instructions"]]
        assert columns["event_busy"][np.array(own)[by_event]].sum() == busy
        assert busy / header["body"] == pytest.approx(timing["utilisation"][engine])


def test_steps_of_the_timeline_are_the_events_of_the_page():
    program = product()
    _, columns = unpacked(timeline_page(program))
    steps = program.steps()
    for name in ("start", "end", "done"):
        times = [step[f"{name}_ns"] * 1000 for step in steps]
        np.testing.assert_array_equal(columns[f"event_{name}"], np.round(times))


def test_instructions_that_read_alike_are_one_and_keep_line_and_operands():
    header, columns = unpacked(timeline_page(product(loops=5)))
    names = [each["name"] for each in header["names"]["instructions"]]
    assert names == ["dma_copy", "nc_matmul", "tensor_copy", "dma_copy"]
    assert len(columns["instance_instruction"]) == 1 + 3 * 5
    load = header["names"]["instructions"][0]
    assert load["source"] == "kernels.py:7"
    assert [each["text"] for each in load["operands"] if "text" in each] == [
        "right [128, 512] bfloat16 sbuf",
        "x [128, 512] bfloat16 hbm",
    ]


def test_a_page_is_complete_by_itself():
    page = timeline_page(product())
    assert not re.search(r"""(src|href)\s*=|@import|url\(|https?://""", page)


def test_a_title_is_text_and_nothing_else():
    page = timeline_page(product(), title="<b>\"&' </script>")
    assert "<title>&lt;b&gt;" in page
    header, _ = unpacked(page)
    assert header["title"] == "<b>\"&' </script>"


def test_a_notebook_shows_the_page_of_a_file_whole(tmp_path):
    path = tmp_path / 'a"b.html'
    write_timeline(product(), path)
    shown = InlineTimeline(path, height=300)._repr_html_()
    title, page = re.match(
        r'<iframe title="([^"]*)" srcdoc="([^"]*)" style="[^"]*300px', shown
    ).groups()
    assert html.unescape(page) == path.read_text() and html.unescape(title) == path.name
    with pytest.raises(ValueError, match="'missing.html' cannot be read: No such file"):
        InlineTimeline("missing.html")._repr_html_()


def test_a_page_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        write_timeline(product(), tmp_path / "missing" / "page.html")


def test_the_code_between_instructions_is_there_without_common_indentation(tmp_path):
    (tmp_path / "kernel.py").write_text("def f():\n    a()\n\n    if b:\n        c()\n    d()\n")
    places = [f"{tmp_path}/kernel.py:{line}" for line in (5, 2, 5)]
    assert sources_of([*places, "", f"{tmp_path}/missing.py:3"]) == {
        f"{tmp_path}/kernel.py": {"first": 2, "lines": ["a()", "", "if b:", "    c()"]}
    }
    (tmp_path / "long.py").write_text("x\n" * 5001)
    for last, count in ((5000, 1), (5001, 0)):
        assert len(sources_of(f"{tmp_path}/long.py:{line}" for line in (1, last))) == count


SCRIPT = """
import neuronxcc.nki as nki, neuronxcc.nki.language as nl, numpy as np
@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.load(x), nl.load(x)))
    return out
for width in (4, 4, 8):
    doubled(np.ones((128, width), np.float32))
"""


def test_run_writes_one_page_per_program_and_prints_the_advice(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "neuron_sim", "run", "--timeline", "out.html", "--advice"]
    done = subprocess.run([*command, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.glob("*.html")} == {"out.html", "out-2.html"}
    header, _ = unpacked((tmp_path / "out.html").read_text())
    assert header["kernel"] == "doubled"
    assert any(each["source"].endswith("script.py:6") for each in header["names"]["instructions"])
    assert done.stderr.count("Twice as fast would save:") == 2


def test_a_page_where_no_file_can_be_is_refused_before_the_script_starts(tmp_path):
    for page in ("", str(tmp_path), str(tmp_path / "missing" / "out.html")):
        with pytest.raises(ValueError, match="^--timeline .*: no file can be written there.$"):
            environment.script_environment({}, timeline=page)
    given = environment.script_environment({}, timeline=str(tmp_path / "o.html"), advice=True)
    assert given[settings.TIMELINE] == str(tmp_path / "o.html") and given[settings.ADVICE] == "1"
