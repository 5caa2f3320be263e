"""The colours of the timeline page, against models of vision that the page does not share."""

import itertools
import re
from importlib import resources

import numpy as np
import pytest

SOURCE = (resources.files("neuron_sim.timeline") / "page" / "colours.js").read_text()
STYLE = (resources.files("neuron_sim.timeline") / "page" / "page.css").read_text()
ENGINES = dict(re.findall(r'(\w+): "(#\w{6})"', SOURCE.split("COLOURS = {")[1].split("}")[0]))
BACKGROUNDS = re.findall(r"--back: (#\w{6})", STYLE)
INKS = dict(re.findall(r'(\w+): "(#\w{6})"', SOURCE.split("INKS = {")[1].split("}")[0]))

VISION = {  # Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    """The ratio of WCAG 2."""
    dark, bright = sorted(linear(each) @ [0.2126, 0.7152, 0.0722] for each in (first, second))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", VISION)
def test_engines_differ_for_every_vision(vision):
    """Distances in Oklab, of which 0.02 can just be seen."""
    seen = {
        name: LAB @ np.cbrt(LMS @ np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1))
        for name, colour in ENGINES.items()
    }
    assert seen.keys() >= {"Tensor", "Vector", "Scalar", "GpSimd", "Sync", "DMA", "Collectives"}
    for first, second in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[first] - seen[second]) > 0.1, (first, second)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_have_contrast_to_both_backgrounds_and_to_their_labels(engine):
    """3 for shapes and 4.5 for text, as WCAG 2 asks."""
    assert len(BACKGROUNDS) == 2
    assert all(contrast(ENGINES[engine], back) >= 3 for back in BACKGROUNDS)
    assert max(contrast(ENGINES[engine], ink) for ink in INKS.values()) >= 4.5


def test_waits_are_quieter_than_every_engine():
    for back, wait in zip(BACKGROUNDS, re.findall(r"--wait: (#\w{6})", STYLE), strict=True):
        assert all(contrast(wait, back) < contrast(each, back) for each in ENGINES.values())
