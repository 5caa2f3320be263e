"""The command neuron-sim fidelity: its report, its text, its plot and wrong files."""

import dataclasses
import json
import subprocess
import sys

import fidelity_samples as samples
import pytest
from neuron_sim import _core, command_line
from neuron_sim.fidelity.evaluate import PreparedCase, evaluate
from neuron_sim.fidelity.measurement import load_measurements, parse_measurement
from neuron_sim.fidelity.report import OF_HELD_OUT_ROWS
from neuron_sim.fidelity.suite import find_case, matchers

CASE_KEYS = {"id", "family", "arch", "measured", "simulated", "unit", "stack", "settings"}
STATISTICS_KEYS = {
    "cases", "mape_percent", "median_percent", "worst_percent", "bias_percent", "rank_correlation",
}  # fmt: skip


def run(capsys, *arguments):
    """Exit status, stdout and stderr of `neuron-sim fidelity`."""
    try:
        status = command_line.main(["fidelity", *map(str, arguments)])
    except SystemExit as stop:  # argparse
        status = stop.code
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Writes entries to a file, with a suite of one kernel that can build those of the samples."""
    samples.install(monkeypatch)

    def write(*entries):
        path = tmp_path / "measurements.json"
        path.write_text(json.dumps(entries), encoding="utf-8")
        return path

    return write


def latency(columns, architecture="trn2"):
    return samples.copy_kernel(columns, architecture).time()["latency_us"]


def report(capsys, tmp_path, *arguments):
    path = tmp_path / "report.json"
    status, out, err = run(capsys, *arguments, "--output", path)
    return status, json.loads(path.read_text(encoding="utf-8")), out


def test_the_report_has_cases_families_overall_and_what_was_fitted(capsys, tmp_path, data):
    columns = (1, 7, 128, 1000, 4096)
    entries = [samples.entry(f"copy-{n}", n, 0.8 * latency(n)) for n in columns]
    entries.append(samples.entry("unknown", 4, kernel="something else", family="mystery"))
    status, result, out = report(capsys, tmp_path, "--data", data(*entries))
    assert status == 0
    assert [case["id"] for case in result["cases"]] == [each["id"] for each in entries]
    assert all(set(case) >= CASE_KEYS for case in result["cases"])
    assert result["cases"][-1]["simulated"] is None
    assert result["without_kernel"] == ["unknown"] and result["failed"] == []
    off = result["passes_off"]
    for groups in (result, off):
        assert set(groups["overall"]) == STATISTICS_KEYS
        assert list(groups["families"]) == ["copy"]
        assert groups["overall"] == groups["families"]["copy"]
    assert off["overall"]["mape_percent"] == pytest.approx(25, abs=1e-3)
    assert off["overall"]["rank_correlation"] == 1
    facts = _core.architecture_facts("trn2") | _core.compiler_costs()
    fitted = {key for key, fact in facts.items() if fact["certainty"] == "fitted"}
    assert result["fitted_parameters"] == len(fitted - OF_HELD_OUT_ROWS)
    assert set(result["fitted_parameter_keys"]) == {"compiler", "trn2"}
    assert f"{result['fitted_parameters']} fitted parameters; 6 cases, 1 of them without" in out


def test_the_report_is_the_same_on_standard_output(capsys, tmp_path, data):
    entries = samples.entry("good", 4), samples.entry("bad", 4, kernel="broken kernel")
    path = data(*entries)
    status, out, _ = run(capsys, "--data", path, "--json")
    assert status == 1
    assert json.loads(out) == report(capsys, tmp_path, "--data", path)[1]


def test_a_case_carries_its_stack_and_the_settings_of_its_passes(capsys, tmp_path, data):
    path = data(samples.entry("copy", 64))
    _, result, _ = report(capsys, tmp_path, "--data", path)
    (case,) = result["cases"]
    assert case["stack"] == "neuronx-cc trn2"
    assert case["settings"] == _core.published_stacks()["neuronx-cc trn2"]["settings"]
    _, result, out = report(capsys, tmp_path, "--data", path, "--stack", "off")
    (case,) = result["cases"]
    assert (case["stack"], case["settings"]) == ("off", {})
    assert case["simulated"] == case["passes_off"] == pytest.approx(latency(64), rel=1e-5)
    assert case["error_percent"] == pytest.approx(10 * latency(64) - 100, rel=1e-4)
    assert "With all passes off" not in out
    assert set(result["fitted_parameter_keys"]) == {"trn2"}


def test_a_kernel_that_raises_is_the_error_of_its_case(capsys, tmp_path, data):
    entries = samples.entry("bad", 4, kernel="broken kernel"), samples.entry("good", 4)
    status, result, out = report(capsys, tmp_path, "--data", data(*entries))
    assert status == 1
    bad, good = result["cases"]
    assert bad["simulated"] is None and good["simulated"] > 0
    assert bad["reason"] == "RuntimeError: the tile is too wide."
    assert result["failed"] == ["bad"] and result["without_kernel"] == []
    assert "RuntimeError: the tile is too wide." in out and "Kernels that failed: bad." in out


def test_a_core_that_is_not_modelled_is_a_reason():
    measurement = parse_measurement(samples.entry("far", 4, arch="trn9"))
    result = evaluate(measurement, find=samples.match)
    assert result.reason == "architecture 'trn9' is not modelled" and not result.has_kernel


def test_a_stack_that_is_not_published_is_a_reason():
    measurement = parse_measurement(samples.entry("copy", 4))

    def find(each):
        launch = dataclasses.replace(samples.match(each).launches[0], stack="gcc")
        return dataclasses.replace(samples.match(each), launches=(launch,))

    result = evaluate(measurement, find=find)
    assert result.reason.startswith("ValueError: stack 'gcc' is not published; stacks: none, ")
    assert result.has_kernel and result.pair("published") is None


def test_times_come_in_the_unit_of_the_measurement():
    for unit, factor in (("ns", 1e3), ("us", 1), ("ms", 1e-3), ("s", 1e-6), ("GB/s", 1)):
        measurement = parse_measurement(samples.entry("copy", 8, unit=unit))
        case = PreparedCase(samples.match(measurement))
        assert case.time("off") == pytest.approx(factor * latency(8))


def test_the_core_and_the_family_select_cases(capsys, tmp_path, data):
    path = data(
        samples.entry("a", 4),
        samples.entry("b", 4, arch="inf2"),
        samples.entry("c", 4, arch="trn1", family="mine"),
    )

    def chosen(*options):
        return [
            case["id"] for case in report(capsys, tmp_path, "--data", path, *options)[1]["cases"]
        ]

    assert chosen() == ["a", "b", "c"]
    assert chosen("--arch", "trn2") == ["a"]
    assert chosen("--arch", "trn1") == ["b", "c"]
    assert chosen("--family", "mine") == ["c"]
    assert chosen("--family", "copy", "--arch", "trn1") == ["b"]
    status, _, err = run(capsys, "--data", path, "--family", "mine", "--arch", "trn2")
    assert status == 2 and "have none that --arch and --family leave." in err
    status, _, err = run(capsys, "--data", path, "--family", "yours")
    assert status == 2 and "have no family 'yours'; families: copy, mine." in err
    status, _, err = run(capsys, "--arch", "trn7")
    assert status == 2 and "'trn7'" in err


def test_other_parameters_time_the_same_program(capsys, tmp_path, data):
    file = tmp_path / "slow.toml"
    fact = _core.architecture_facts("trn2")["launch.benchmark"]
    file.write_text(
        'base = "trn2"\n[launch]\nbenchmark = { value = %r, unit = "ns", source = "a test of it", '
        'certainty = "fitted" }\n' % (fact["value"] + 5000)
    )
    path = data(samples.entry("copy", 64))
    options = ("--data", path, "--arch", "trn2")
    _, before, _ = report(capsys, tmp_path, *options)
    _, after, _ = report(capsys, tmp_path, *options, "--architecture", file)
    gained = after["cases"][0]["simulated"] - before["cases"][0]["simulated"]
    assert gained == pytest.approx(5, abs=1e-3)
    status, _, err = run(capsys, "--architecture", file)
    assert status == 2 and "--architecture needs --arch, the core that it describes" in err
    status, _, err = run(capsys, "--arch", "trn2", "--architecture", tmp_path / "none.toml")
    assert status == 2 and "none.toml' cannot be read." in err


def test_only_the_calibration_entries_of_the_published_data_count(capsys, tmp_path, monkeypatch):
    samples.install(monkeypatch)
    published = load_measurements()
    counted = [each.id for each in published if each.split == "calibration"]
    status, result, _ = report(capsys, tmp_path)
    assert status == 0
    assert [case["id"] for case in result["cases"]] == counted and len(counted) < len(published)
    assert result["without_kernel"] == counted
    assert result["overall"] is None and result["families"] == {}
    assert all(group["spread_percent"] > 0 for group in result["noise"])
    assert max(len(group["ids"]) for group in result["noise"]) >= 3


def test_every_entry_of_another_file_counts(capsys, tmp_path, data):
    path = data(samples.entry("a", 4), samples.entry("b", 4, split="repeat_for_noise"))
    _, result, _ = report(capsys, tmp_path, "--data", path)
    assert result["overall"]["cases"] == 2


@pytest.mark.parametrize(("content", "sentence"), [
    ("{", "is not JSON"),
    ('{"entries": []}', "are not a list."),
    ("[7]", "entry 0 is not an object."),
    ("[]", "have none that --arch and --family leave."),
    ('[{"family": "a", "arch": "trn2", "value": 1}]', "measurement '' has no 'id'."),
    ('[{"id": "x", "arch": "trn2", "value": 1}]', "measurement 'x' has no 'family'."),
    ('[{"id": "x", "family": "a", "value": 1}]', "measurement 'x' has no 'arch'."),
    ('[{"id": "x", "family": "a", "arch": "trn2"}]', "measurement 'x' has no 'value'."),
    ('[{"id": "x", "family": "a", "arch": "trn2", "value": "fast"}]',
        "measurement 'x': value 'fast' is not a number."),
    ('[{"id": "x", "family": "a", "arch": "trn2", "value": 0}]',
        "measurement 'x': value 0 is not more than 0."),
    ('[{"id": "x", "family": "a", "arch": "trn2", "value": NaN}]',
        "measurement 'x': value nan is not more than 0."),
])  # fmt: skip
def test_a_wrong_file_is_one_sentence(capsys, tmp_path, content, sentence):
    path = tmp_path / "wrong.json"
    path.write_text(content, encoding="utf-8")
    status, out, err = run(capsys, "--data", path)
    assert (status, out) == (2, "")
    assert err.startswith("neuron-sim fidelity: error: ") and err.count("\n") == 1
    assert sentence in err


def test_a_file_that_cannot_be_read_or_written_is_one_sentence(capsys, tmp_path, data):
    status, _, err = run(capsys, "--data", tmp_path / "none.json")
    assert status == 2 and "cannot be read: No such file or directory." in err
    path = data(samples.entry("copy", 4))
    status, _, err = run(capsys, "--data", path, "--plot", tmp_path / "none" / "plot.svg")
    assert status == 2 and "cannot be written: No such file or directory." in err
    status, out, err = run(capsys, "--data", path, "--output", tmp_path / "none" / "report.json")
    assert (status, out) == (2, "") and "report.json: No such file or directory." in err
    status, _, err = run(capsys, "--data", path, "--plot", "plot.pdf")
    assert status == 2 and "--plot plot.pdf: the file must end in .svg or .png" in err


def test_the_plot_names_families_and_the_cases_that_are_far_off(capsys, tmp_path, data):
    near, far = samples.entry("near", 4, latency(4)), samples.entry("far", 64, 2 * latency(64))
    rate = samples.entry("rate", 64, 3.0, unit="GB/s", family="rates")
    texts = []
    for name in ("one.svg", "two.svg"):
        status, _, _ = run(
            capsys, "--data", data(near, far, rate), "--stack", "off", "--plot", tmp_path / name
        )
        assert status == 0
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    for text in ("far -50 %", "copy", "rates", "simulated"):
        assert f">{text}<" in texts[0]
    assert "near" not in texts[0]
    image = tmp_path / "plot.png"
    assert run(capsys, "--data", data(near), "--plot", image)[0] == 0
    assert image.read_bytes().startswith(b"\x89PNG")
    unknown = samples.entry("unknown", 4, kernel="something else")
    status, _, err = run(capsys, "--data", data(unknown), "--plot", image)
    assert status == 2 and "nothing to draw" in err


def test_a_module_that_knows_nothing_passes_the_measurement_on():
    measurement = parse_measurement(samples.entry("copy", 4))
    assert find_case(measurement, (lambda _: None, samples.match)).measurement is measurement
    assert find_case(measurement, (lambda _: None,)) is None


def test_the_suite_asks_every_module_with_a_match():
    names = {match.__module__.rpartition(".")[2] for match in matchers()}
    assert {"attention", "gemm", "vector_add"} <= names and "convolution" not in names


def test_help_needs_neither_scipy_nor_matplotlib():
    program = (
        "import sys; from neuron_sim import command_line\n"
        "try: command_line.main(['fidelity', '--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'scipy', 'matplotlib', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_passes_that_keep_more_than_the_chip_holds_give_way_and_are_named():
    measurements = {each.id: each for each in load_measurements()}
    skipped_passes = PreparedCase(find_case(measurements["trn1-mamba-autocomp-4"])).skipped_passes
    assert skipped_passes == ["batch_narrow_operations"]
    assert not PreparedCase(find_case(measurements["trn1-vadd-stream-fd2-25600"])).skipped_passes
