"""docs/handout_profiling.md: its commands print what it says, and its answers follow from that."""

import re

import page_commands
import pytest

pytest.importorskip("neuron_sim.neuronxcc.nki")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def text():
    return page_commands.PAGE.read_text(encoding="utf-8")


def test_the_commands_of_the_page_print_what_it_says(text):
    assert page_commands.page(text) == text, "the page is stale; run page_commands.py"


def test_a_command_that_fails_is_an_error_with_its_output():
    with pytest.raises(RuntimeError, match="ended with 3:\nsaid"):
        page_commands.page("```sh\necho said; exit 3\n```\n")
    with pytest.raises(RuntimeError, match="no 'text' block"):
        page_commands.page("```sh\necho said\n```\n")


def summary_of(text, name):
    """Transfers and total_time in seconds of a profile, as printed."""
    printed = re.search(rf"^{name}\ndma_transfer_count +(\d+)\ntotal_time +(\S+)$", text, re.M)
    return int(printed[1]), float(printed[2])


def times_of(text, name):
    """(start, end) in nanoseconds by queue and engine, as printed."""
    printed = re.search(rf"^{name}\n((?:  .*\n)+)", text, re.M)[1]
    return {
        row: (int(start), int(end))
        for row, start, end in re.findall(r"^  (\w+): .* (\d+) to (\d+) ns", printed, re.M)
    }


@pytest.mark.parametrize("profile", ["stream_256k", "trn2_256k"])
def test_the_shorter_tiles_are_faster_because_additions_begin_during_loads(text, profile):
    long, short = (summary_of(text, f"{profile}_fd{k}k") for k in (2, 1))
    assert (long[0], short[0]) == (3, 6) and short[1] < long[1]
    long, short = (times_of(text, f"{profile}_fd{k}k") for k in (2, 1))
    for times in (long, short):
        assert times["qGpSimdIO0"][0] > times["vector"][0] > times["qSyncIO0"][0]
    assert long["vector"][0] > long["qSyncIO0"][1]
    assert short["vector"][0] < short["qSyncIO0"][1]


def test_smaller_images_and_fp32_have_a_lower_mfu(text):
    mfu = {
        match.groups()[:3]: float(match[4])
        for match in re.finditer(r"^(trn\d) conv_(\d+)_(\w+)\.neff \w+ +(\S+)$", text, re.M)
    }
    assert len(mfu) == 8
    for chip in ("trn1", "trn2"):
        for dtype in ("float16", "float32"):
            assert mfu[chip, "32", dtype] < mfu[chip, "224", dtype] < 1
        assert mfu[chip, "224", "float32"] < mfu[chip, "224", "float16"] / 3.5
