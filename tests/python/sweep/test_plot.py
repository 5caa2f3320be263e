"""Pictures of sweeps: what is drawn, read back from matplotlib."""

import sys

import matplotlib
import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from neuron_sim.sweep import Study
from neuron_sim.sweep.plot import plot

matplotlib.use("Agg")


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """The axes of a picture, instead of closing it."""

    def draw(parameters, rows):
        monkeypatch.setattr(pyplot, "close", lambda figure: None)
        plot(Study("k.py:f", parameters), rows, "us", tmp_path / "out.png")
        assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
        return pyplot.gcf().axes[0]

    yield draw
    monkeypatch.undo()
    pyplot.close("all")


def test_one_parameter_is_a_curve_with_gaps_where_points_were_refused(drawn):
    rows = [{"n": 1, "us": 5.0}, {"n": 2, "error": "no"}, {"n": 4, "us": 3}]
    (line,) = drawn({"n": (1, 2, 4), "fixed": (1,)}, rows).lines
    assert np.array_equal(line.get_xdata(), [1, 2, 4])
    assert np.array_equal(line.get_ydata(), [5, np.nan, 3], equal_nan=True)


def test_two_parameters_are_a_heat_map(drawn):
    rows = [{"a": a, "b": b, "us": 10 * a + len(b)} for a in (1, 2) for b in ("x", "yy", "zzz")]
    axes = drawn({"a": (1, 2), "b": ("x", "yy", "zzz")}, rows)
    (image,) = axes.images
    assert image.get_array().tolist() == [[11, 12, 13], [21, 22, 23]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "yy", "zzz"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("b", "a")


def test_of_three_parameters_each_combination_of_the_others_is_a_curve(drawn):
    grid = {"n": ("s", "m"), "a": (1, 2), "b": (3, 4)}
    rows = [{"n": n, "a": a, "b": b, "us": a * b} for n in "sm" for a in (1, 2) for b in (3, 4)]
    axes = drawn(grid, rows)
    labels = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
    assert labels == {
        "a 1, b 3": [3, 3], "a 1, b 4": [4, 4], "a 2, b 3": [6, 6], "a 2, b 4": [8, 8],
    }  # fmt: skip


def test_what_cannot_be_drawn_is_refused(tmp_path):
    study = Study("k.py:f", {"n": (1, 2)})
    with pytest.raises(ValueError, match="no point has a number 'us'"):
        plot(study, [{"n": 1, "error": "no"}], "us", tmp_path / "out.png")
    with pytest.raises(ValueError, match="no parameter has more than one value"):
        plot(Study("k.py:f", {"n": (1,)}), [{"n": 1, "us": 1}], "us", tmp_path / "out.png")
    assert not (tmp_path / "out.png").exists()


def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \"neuron-sim\[sweep\]\""):
        plot(Study("k.py:f", {"n": (1, 2)}), [{"n": 1, "us": 1}], "us", tmp_path / "out.png")
