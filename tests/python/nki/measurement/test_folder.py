"""The folder of `neuron-sim run --profile`: files and index of every kernel that ran."""

import gzip
import html.parser
import json
import multiprocessing

import pytest
from measured_kernels import doubled, product
from neuron_sim import settings
from neuron_sim.nki import measurement
from neuron_sim.nki.measurement import folder, program_file
from neuron_sim.nki.measurement.tables import run_profile


class Links(html.parser.HTMLParser):
    """The targets of links, and the cells of the table by row."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.rows = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.targets.append(dict(attributes)["href"])
        elif tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


@pytest.fixture
def profiled(tmp_path, monkeypatch):
    monkeypatch.setenv(settings.PROFILE, str(tmp_path))
    monkeypatch.setattr(folder, "_known", set())
    return tmp_path


def names(path):
    return sorted(each.name for each in path.iterdir())


def test_nothing_is_written_without_the_option(tmp_path, monkeypatch):
    monkeypatch.delenv(settings.PROFILE, raising=False)
    monkeypatch.chdir(tmp_path)
    measurement.record(doubled())
    assert names(tmp_path) == []


def test_kernels_are_numbered_and_a_program_is_written_once(profiled, monkeypatch):
    for kernel in (doubled(), doubled(), product(), doubled(columns=256), doubled("<lambda>")):
        measurement.record(kernel)
    monkeypatch.setattr(folder, "_known", set())  # as another process
    measurement.record(product())
    stems = ["01-doubled", "02-product", "03-doubled", "04-_lambda_"]
    files = [f"{stem}.{end}" for stem in stems for end in ("html", "neff", "pftrace.gz")]
    assert names(profiled) == sorted([*files, "index.html", "index.json"])
    entries = folder.read_index(profiled)
    assert [entry["number"] for entry in entries] == [1, 2, 3, 4]
    assert [entry["name"] for entry in entries] == ["doubled", "product", "doubled", "<lambda>"]


def test_the_index_says_what_ran_and_how_long(profiled):
    kernel = product()
    measurement.record(kernel)
    [entry] = json.loads((profiled / "index.json").read_text())["kernels"]
    timing = kernel.time()
    for name, key in (("body_us", "body_us"), ("latency_us", "latency_us"),
                      ("total_us", "profile_us"), ("bottleneck", "bottleneck"),
                      ("dma_bytes", "dma_bytes"), ("dma_transfers", "dma_transfers")):  # fmt: skip
        assert entry[name] == timing[key], name
    assert [(each["label"], each["shape"], each["dtype"]) for each in entry["arguments"]] == [
        ("x", [128, 64], "bfloat16"),
        ("y", [128, 256], "bfloat16"),
        ("z", [64, 256], "float32"),
    ]
    assert entry["bound"].startswith("Bound by ")
    stored = program_file.read(profiled / entry["files"]["program"], program_file.PROGRAM)
    assert stored.kernel == "product"
    perfetto = gzip.decompress((profiled / entry["files"]["perfetto"]).read_bytes())
    assert perfetto == kernel.program.perfetto()


def test_the_page_has_a_line_per_kernel_whose_links_lead_to_its_files(profiled):
    for kernel in (doubled("a<b"), product()):
        measurement.record(kernel)
    page = Links((profiled / "index.html").read_text())
    rows = [row for row in page.rows if row]
    assert [row[:3] for row in rows] == [["1", "a<b", "trn2"], ["2", "product", "trn2"]]
    assert "x [128, 64] bfloat16" in rows[1][3]
    assert rows[1][4] == f"{product().time()['body_us']:.2f}"
    assert set(page.targets) == set(names(profiled)) - {"index.html", "index.json"}


@pytest.mark.parametrize("content", ["{", "[]", "5", '{"format": "x"}', '{"version": 1}'])
def test_an_index_that_is_not_ours_is_one_sentence(profiled, content):
    (profiled / "index.json").write_text(content)
    with pytest.raises(ValueError, match="index.json is not ") as refusal:
        measurement.record(doubled())
    assert "\n" not in str(refusal.value)
    assert names(profiled) == ["index.json"]


def test_a_recording_that_unpacks_too_far_is_refused(profiled, monkeypatch):
    measurement.record(doubled())
    program = program_file.read(profiled / "01-doubled.neff", program_file.PROGRAM)
    assert program.view(lambda run: run.kernel) == "doubled"
    most = sum(column.nbytes for column in program.view(lambda run: run.columns).values())
    monkeypatch.setattr(run_profile, "LARGEST_UNPACKED", most)  # less than with their headers
    with pytest.raises(ValueError, match="01-doubled.neff has a recording that cannot be read"):
        program.view(lambda run: run.kernel)


def _record(columns):
    measurement.record(doubled(columns=columns))


def test_processes_take_turns(profiled):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.map(_record, [128, 256, 512, 128, 256, 512])
    entries = folder.read_index(profiled)
    assert [entry["number"] for entry in entries] == [1, 2, 3]
    assert len({entry["program"] for entry in entries}) == 3
    assert len(names(profiled)) == 3 * 3 + 2
