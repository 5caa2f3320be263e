"""Published kernels timed from their authors' files, here from checkouts that the tests write."""

import dataclasses
import json
import re
import subprocess

import numpy as np
import pytest
from fidelity_samples import entry
from neuron_sim import command_line
from neuron_sim.fidelity.held_out.rows import held_out_rows
from neuron_sim.fidelity.measurement import load_measurements, parse_measurement
from neuron_sim.fidelity.published import evaluate as published
from neuron_sim.fidelity.published import sources
from neuron_sim.fidelity.published.loading import candidates, edited
from neuron_sim.fidelity.published.thresholds import published_thresholds
from neuron_sim.fidelity.published.variant_order import published_variants
from neuron_sim.neuronxcc import nki
from neuron_sim.neuronxcc.nki import language as nl

AUTHOR = """
import numpy
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim
import beside  # a file of the same folder

FACTOR = 3

@nki.jit
def scaled(x, offset=0.0):
    print("a line of the author")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 128):
        tile = nl.load(x[i * 128 : (i + 1) * 128])
        for _ in range(FACTOR):
            tile[...] = nl.exp(tile)
        nl.store(out[i * 128 : (i + 1) * 128], tile + offset)
    return out

@nki.jit
def broken(x):
    raise NotImplementedError("left to the reader")
"""

TRACE = """
CodeCandidate(parent=CodeCandidate(parent=None, plan=None, code='def kernel(x):\\n    pass'),
plan='faster', code='@nki.jit\\ndef kernel(x):\\n    return later', score=0.5)
"""


def kernel(measurement, launches, **defaults):
    """A PublishedKernel of the repository author/kernels."""
    defaults = {"file": "part1/kernels.py", "function": "scaled"} | defaults
    source = sources.Source("author/kernels", "0" * 40)
    calls = tuple(sources.Launch(**(defaults | launch)) for launch in launches)
    return sources.PublishedKernel(measurement, source, calls)


def array(*shape, dtype="float32"):
    return {"dtype": dtype, "shape": list(shape)}


@pytest.fixture
def checkouts(tmp_path, monkeypatch):
    """A folder with one checkout; `publish(kernel)` names a kernel of it."""
    folder = tmp_path / "author+kernels" / "part1"
    folder.mkdir(parents=True)
    (folder / "kernels.py").write_text(AUTHOR)
    (folder / "beside.py").write_text("")
    (folder / "trace.py").write_text(TRACE)
    named = {}
    monkeypatch.setattr(published, "published_kernels", lambda: named)
    tmp_path_of = type("Checkouts", (), {"path": tmp_path, "folder": folder})
    tmp_path_of.publish = staticmethod(lambda each: named.update({each.measurement: each}))
    return tmp_path_of


def measured(identifier="a", metric="NC latency p99", **changes):
    return parse_measurement(entry(identifier, 4, metric=metric, **changes))


def own_times(factor, shape=(256, 64), dtype=np.float32):
    """Times of the author's kernel, written here."""

    @nki.jit
    def scaled(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(x.shape[0] // 128):
            tile = nl.load(x[i * 128 : (i + 1) * 128])
            for _ in range(factor):
                tile[...] = nl.exp(tile)
            nl.store(out[i * 128 : (i + 1) * 128], tile + 0.0)
        return out

    return scaled.traced(np.zeros(shape, dtype))


def test_the_authors_file_is_timed_as_the_front_end_times_it(checkouts):
    checkouts.publish(kernel("a", [{"arguments": (array(256, 64),)}]))
    evaluated = published.evaluate(measured(), checkouts.path)
    expected = own_times(3)
    assert evaluated.reason is None and evaluated.has_kernel
    assert evaluated.stack == "neuronx-cc trn2"
    assert evaluated.simulated["published"] == expected.time()["latency_us"]
    assert evaluated.simulated["off"] == expected.source.time()["latency_us"]


@pytest.mark.parametrize("metric, execution, unit, time", [
    ("neuron-profile total_time", None, "us", "profile_us"),
    ("neuron-profile total_time", 10, "us", "profile_us"),
    ("neuron-profile total_time", 1, "us", "first_profile_us"),
    ("profile device time", 1, "us", "body_us"),
    ("nki.benchmark NC latency p50", None, "ms", "latency_us"),
])  # fmt: skip
def test_metrics_name_the_time_and_units_are_those_of_the_measurement(
    checkouts, metric, execution, unit, time
):
    checkouts.publish(kernel("a", [{"arguments": (array(256, 64),)}]))
    measurement = measured(metric=metric, execution=execution, unit=unit)
    evaluated = published.evaluate(measurement, checkouts.path)
    scale = {"us": 1.0, "ms": 1e-3}[unit]
    assert evaluated.simulated["published"] == pytest.approx(own_times(3).time()[time] * scale)


def test_launches_of_one_measurement_run_one_after_the_other(checkouts):
    launches = [{"arguments": (array(256, 64),)}, {"arguments": (array(128, 512),)}]
    checkouts.publish(kernel("a", launches, keywords={"offset": 1.0}))
    together = published.evaluate(measured(), checkouts.path).simulated["published"]
    alone = 0.0
    for launch in launches:
        checkouts.publish(kernel("b", [launch], keywords={"offset": 1.0}))
        alone += published.evaluate(measured("b"), checkouts.path).simulated["published"]
    assert together == pytest.approx(alone)


def test_a_line_that_the_author_changed_between_runs_is_changed(checkouts):
    launch = {"arguments": (array(256, 64),), "edits": {"FACTOR = 3": "FACTOR = 1"}}
    checkouts.publish(kernel("a", [launch]))
    evaluated = published.evaluate(measured(), checkouts.path)
    assert evaluated.simulated["published"] == own_times(1).time()["latency_us"]
    assert "FACTOR = 3" in (checkouts.folder / "kernels.py").read_text()
    with pytest.raises(ValueError, match=r"^'kernels.py' has no 'FACTOR = 4': is the checkout at"):
        edited(AUTHOR, {"FACTOR = 4": ""}, "'kernels.py'")


def test_flags_and_the_architecture_reach_the_compiler(checkouts):
    launch = {"arguments": (array(256, 64),), "flags": "--disable-dge"}
    checkouts.publish(kernel("a", [launch]))
    assert published.evaluate(measured(), checkouts.path).stack == "neuronx-cc trn2 --disable-dge"
    evaluated = published.evaluate(measured(arch="trn1"), checkouts.path)
    assert evaluated.stack == "neuronx-cc trn1"


def test_a_candidate_of_a_trace_is_its_text_oldest_first():
    old, new = candidates(TRACE)
    assert old.startswith("def kernel") and new.endswith("return later")


@pytest.mark.parametrize("launch, reason", [
    ({"function": "broken"}, "NotImplementedError: left to the reader"),
    ({"function": "absent"}, "AttributeError: module"),
    ({"file": "part2/none.py"}, "FileNotFoundError"),
    ({"file": "part1/trace.py", "candidate": 1, "function": "kernel"}, "NameError"),
    ({"edits": {"FACTOR = 4": ""}}, "ValueError: 'part1/kernels.py' has no 'FACTOR = 4'"),
])  # fmt: skip
def test_a_kernel_that_does_not_run_is_a_reason(checkouts, launch, reason):
    checkouts.publish(kernel("a", [{"arguments": (array(256, 64),)} | launch]))
    evaluated = published.evaluate(measured(), checkouts.path)
    assert evaluated.has_kernel
    assert evaluated.reason.startswith(reason)
    assert set(evaluated.simulated.values()) == {None}


def test_a_reason_is_short_and_names_files_without_folders(checkouts):
    (checkouts.folder / "kernels.py").write_text("raise ValueError(f'{__file__}:1 ' + 'x ' * 200)")
    checkouts.publish(kernel("a", [{"arguments": (array(256, 64),)}]))
    reason = published.evaluate(measured(), checkouts.path).reason
    assert reason.startswith("ValueError: kernels.py:1 x x ")
    assert len(reason) <= published.REASON_LENGTH


def test_a_process_that_ends_is_a_reason(checkouts):
    (checkouts.folder / "kernels.py").write_text("import os\nos._exit(7)\n")
    checkouts.publish(kernel("a", [{"arguments": (array(256, 64),)}]))
    assert published.evaluate(measured(), checkouts.path).reason == "the process ended with 7:"


def test_without_a_checkout_or_a_file_nothing_replaces_the_kernel(checkouts, tmp_path):
    checkouts.publish(kernel("a", [{"arguments": ()}]))
    empty = tmp_path / "empty"
    empty.mkdir()
    evaluated = published.evaluate(measured(), empty)
    assert evaluated.reason == f"no checkout '{empty / 'author+kernels'}'"
    unknown = published.evaluate(measured("unknown"), checkouts.path)
    assert unknown.reason == "the author's file is not public or named"
    assert not evaluated.has_kernel and not unknown.has_kernel


def test_a_checkout_at_another_commit_is_a_reason(checkouts):
    folder = checkouts.path / "author+kernels"
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "kernels"]):
        subprocess.run([*git, *arguments], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    published_kernel = kernel("a", [{"arguments": (array(256, 64),)}])
    checkouts.publish(published_kernel)
    reason = f"the checkout is at commit '{head.stdout.strip()}', not {'0' * 40}"
    assert published.evaluate(measured(), checkouts.path).reason == reason
    right = sources.Source("author/kernels", head.stdout.strip())
    checkouts.publish(dataclasses.replace(published_kernel, source=right))
    assert published.evaluate(measured(), checkouts.path).reason is None


def test_the_command_counts_what_has_no_checkout(tmp_path, capsys):
    assert command_line.main(["fidelity", "--family", "conv2d", "--sources", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    family = [each for each in load_measurements() if each.family == "conv2d"]
    cases = len([each for each in family if each.split == "calibration"])
    assert out.count("no checkout") == cases
    assert f"{cases} cases, {cases} of them without a kernel." in out
    with pytest.raises(SystemExit):
        command_line.main(["fidelity", "--sources", str(tmp_path / "none")])
    assert "there is no such folder" in capsys.readouterr().err


def test_the_sources_name_measurements_and_whole_commits():
    identifiers = {each.id for each in load_measurements() if each.split == "calibration"}
    kernels = sources.published_kernels()
    assert kernels.keys() <= identifiers
    assert len(kernels) >= 60
    for each in kernels.values():
        assert re.fullmatch("[0-9a-f]{40}", each.source.commit)
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", each.source.repository)


def test_one_repository_has_one_commit():
    commits = {}
    for each in sources.published_kernels().values():
        assert commits.setdefault(each.source.repository, each.source) == each.source


def test_the_clone_lines_make_the_folders_that_are_read(tmp_path, capsys):
    assert command_line.main(["fidelity", "--clone-lines", "a folder"]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [each.source for each in sources.published_kernels().values()]
    named += [row.suite.source for row in held_out_rows()]
    named += [each.kernel.source for each in (*published_thresholds(), *published_variants())]
    folders = {str(each.folder(tmp_path)) for each in named}
    assert len(lines) == 2 * len(folders)
    for line in lines:
        assert subprocess.run(["bash", "-n", "-c", line], check=False).returncode == 0
        assert "'a folder/" in line


def test_wrong_keys_of_a_source_are_refused(tmp_path):
    path = tmp_path / "wrong.toml"
    head = 'repository = "a/b"\ncommit = "c"\n[[kernel]]\nmeasurement = "m"\nfile = "f"\n'
    path.write_text(head + 'function = "g"\nargument = []\n')
    with pytest.raises(
        ValueError, match=r"^'wrong.toml': the kernel of 'm' has unknown keys \['argument'\]"
    ):
        sources.read_sources(path)
    path.write_text(head)
    with pytest.raises(ValueError, match=r"^'wrong.toml': .* lacks \['function'\]"):
        sources.read_sources(path)


def test_requests_are_json(tmp_path):
    for each in sources.published_kernels().values():
        for launch in each.launches:
            json.dumps([launch.arguments, dict(launch.keywords)])
