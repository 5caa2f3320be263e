"""Profile folders and pages of what torch launches."""

import html.parser
import json

import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME
from neuron_sim import settings
from neuron_sim.nki.measurement import folder, views
from neuron_sim.run import launch_profile
from neuron_sim.timeline import read_timeline
from test_run_command import run_script, written


def entries_of(path):
    return json.loads((path / folder.INDEX).read_text())["kernels"]


def work():
    x = torch.ones(32, 48).to(DEVICE_TYPE)
    for _ in range(3):
        y = x @ x.T
    return y.softmax(1)


def test_a_folder_has_each_program_once_with_its_launches(tmp_path):
    work()  # names operators from here on
    profile = launch_profile.LaunchProfile(str(tmp_path / "new"))
    with torch.neuron_sim.record_launches() as launches:
        work()
    assert profile.stop() == 0
    work()
    assert profile.stop() == 0  # the second time it writes nothing
    entries = entries_of(tmp_path / "new")
    assert [(e["name"], e["operator"], e["launches"]) for e in entries] == [
        (launches[0].name, "aten::mm", 3), (launches[3].name, "aten::_softmax", 1)
    ]  # fmt: skip
    assert [e["body_us"] for e in entries] == pytest.approx(
        [launches[0].body_us, launches[3].body_us]
    )
    for entry in entries:
        assert all((tmp_path / "new" / file).stat().st_size for file in entry["files"].values())
    page = (tmp_path / "new" / "index.html").read_text()
    assert "aten::mm" in page and page.count("<tr>") == 3
    html.parser.HTMLParser().feed(page)


def test_a_second_profile_adds_its_launches(tmp_path):
    for _ in range(2):
        profile = launch_profile.LaunchProfile(str(tmp_path))
        work()
        profile.stop()
    assert [entry["launches"] for entry in entries_of(tmp_path)] == [6, 2]


def test_the_longest_programs_are_kept_in_order_and_the_others_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(launch_profile, "MOST_PROFILED", 1)
    profile = launch_profile.LaunchProfile(str(tmp_path))
    work()
    assert profile.stop() == 1
    [entry] = entries_of(tmp_path)
    assert entry["launches"] == 3


@pytest.mark.parametrize(
    ("pages", "is_wanted", "is_shown"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_pages_are_shown_where_they_are_wanted_and_not_shown_yet(
    pages, is_wanted, is_shown, monkeypatch, capsys
):
    monkeypatch.setenv(settings.TIMELINE, "page.html" if is_wanted else "")
    monkeypatch.setattr(launch_profile, "longest", lambda tally, most: (["program"], tally))
    shown = []
    monkeypatch.setattr(views, "show_views", shown.append)
    launch_profile.write_wanted(7, pages)
    assert shown == ["program"] * is_shown
    assert ("--timeline: the" in capsys.readouterr().err) == is_shown


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        launch_profile.LaunchProfile(str(tmp_path / "file" / "inside"))


SCRIPT = """
import torch
model = torch.nn.Linear(32, 16).to("neuron_sim")
x = torch.ones(8, 32, device="neuron_sim")
compiled = torch.compile(model, backend="neuron_sim")
with torch.no_grad():
    for _ in range(2):
        compiled(x)
    model(x).relu()
"""


def test_options_of_the_command_show_operators_and_graphs(tmp_path):
    page = tmp_path / "page.html"
    profile = tmp_path / "profile"
    options = ("--timeline", page, "--profile", profile, "--advice", "--no-summary")
    out, err, status = run_script(*options, written(tmp_path, SCRIPT), variables=OWN_NAME)
    assert (out, status) == ("", 0)
    entries = entries_of(profile)
    [graph] = [entry for entry in entries if entry["name"] == "graph"]
    assert graph["launches"] == 2 and graph["operator"] == "neuron_sim::graph"
    pages = [page, *(tmp_path / f"page-{n}.html" for n in range(2, len(entries) + 1))]
    titles = [read_timeline(each).title for each in pages]
    assert titles == [f"{entry['name']} on trn2" for entry in entries]
    assert not (tmp_path / f"page-{len(entries) + 1}.html").exists()
    assert err.count("Bound ") == len(entries)


def test_a_folder_with_a_foreign_index_is_one_sentence(tmp_path):
    (tmp_path / folder.INDEX).write_text("{}")
    script = written(tmp_path, SCRIPT)
    out, err, status = run_script("--profile", tmp_path, "--no-summary", script, variables=OWN_NAME)
    sentence = f"{tmp_path / folder.INDEX} is not the index of a profile folder of this neuron_sim."
    assert (out, status) == ("", 0)
    assert err.endswith(f"neuron-sim run: {sentence}\n")  # after warnings of torch, if it has any
    assert err.count("neuron-sim run") == 1
