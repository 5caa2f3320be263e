"""neuron-sim sweep --html: the page has the rows, and timelines of the fastest points beside it."""

import json
import re

from neuron_sim.sweep import Study, page, run_sweep
from neuron_sim.sweep.page import sweep_page, write_sweep_page
from neuron_sim.timeline import read_timeline
from test_sweep import FILE

PARAMETERS = {"N": (64, 128, 192), "factor": (1.0, 2.0)}


def study(**parameters):
    return Study(f"{FILE}:scaled", {**PARAMETERS, **parameters}, {"x": "float32[128, N]"})


def data_of(text):
    return json.loads(re.search(r'id="data" type="application/json">(.*?)</script>', text)[1])


def test_the_fastest_points_have_timelines_of_their_time(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "MOST_TIMELINES", 4)
    rows = run_sweep(study(N=(64, 128, 100_000)))
    assert ["error" in row for row in rows] == [False] * 4 + [True] * 2
    rows.append({**rows[0], "N": 192, "latency_us": 1e9})
    write_sweep_page(study(), rows, tmp_path / "out.html")
    data = data_of((tmp_path / "out.html").read_text())
    assert data["rows"] == rows and data["parameters"] == {
        k: list(v) for k, v in PARAMETERS.items()
    }
    assert sorted(data["timelines"]) == ["0", "1", "2", "3"]
    for number, address in data["timelines"].items():
        run = read_timeline(tmp_path / address)
        assert run.header["advice"]["body_us"] == rows[int(number)]["body_us"]
        assert run.title.endswith(
            f"N {rows[int(number)]['N']}, factor {rows[int(number)]['factor']}"
        )


def test_a_sweep_of_models_has_no_timelines(tmp_path):
    rows = [{"batch": 1, "latency_ms": 2.0}]
    write_sweep_page(Study("model:resnet18", {"batch": (1,)}), rows, tmp_path / "out.html")
    assert data_of((tmp_path / "out.html").read_text())["timelines"] == {}
    assert [path.name for path in tmp_path.iterdir()] == ["out.html"]


def test_text_of_a_row_cannot_end_the_data():
    rows = [{"N": 64, "error": "</script><b>@TITLE@"}]
    text = sweep_page(study(), rows, {})
    assert data_of(text)["rows"] == rows and text.count("</script>") == 2
