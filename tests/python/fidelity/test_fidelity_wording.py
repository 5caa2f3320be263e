"""Numbers, shapes, dtypes and stacks out of texts."""

import pytest
from neuron_sim.fidelity import wording
from neuron_sim.fidelity.measurement import parse_measurement
from neuron_sim.fidelity.stacks import published_stack


def measurement(**texts):
    entry = {"id": "x", "family": "f", "arch": "trn2", "value": 1}
    return parse_measurement(entry | texts)


@pytest.mark.parametrize(
    ("text", "number"),
    [("FREE_DIM=2000", 2000), ("free_dim = 7", 7), ("stream FREE_DIM 12", 12), ("fd=3", 3)],
)
def test_a_number_is_found_after_any_of_its_names(text, number):
    assert wording.number(text, "free_dim", "fd") == number


def test_a_name_without_a_number_is_none():
    assert wording.number("FREE_DIM of the tile; AFREE_DIM=3", "free_dim") is None


def test_shapes_are_lists_in_brackets():
    text = "X (1,256, 8,9) tile [128x2000], [4 x 5] of (25600,) in x2 (two)"
    assert wording.shapes(text) == [(1, 256, 8, 9), (128, 2000), (4, 5), (25600,)]


def test_a_shape_belongs_to_the_name_in_front_of_it():
    text = "X (1,2,3,4) W (5,6,7,7) bias (5,)"
    assert wording.shape_after(text, "w") == (5, 6, 7, 7)
    assert wording.shape_after(text, "weights", "bias") == (5,)
    assert wording.shape_after(text, "filter") is None


@pytest.mark.parametrize(("text", "name"), [
    ("float32", "float32"), ("fp16 (half)", "float16"), ("BF16", "bfloat16"), ("int8", None),
    ("-", None),
])  # fmt: skip
def test_dtypes_have_several_names(text, name):
    assert wording.dtype(text) == name


@pytest.mark.parametrize(("texts", "options", "stack"), [
    ({}, {}, "neuronx-cc trn2"),
    ({}, {"direct": True}, "neuronx-cc trn2 direct"),
    ({"caveats": "compiled with --disable-dge"}, {}, "neuronx-cc trn2 --disable-dge"),
    ({"extra": {"harness": "DGE enabled (no --disable-dge)"}}, {}, "neuronx-cc trn2"),
    ({"description": "3 DMAs, static descriptors"}, {}, "neuronx-cc trn2 --disable-dge"),
    ({}, {"static": True, "direct": True}, "neuronx-cc trn2 --disable-dge direct"),
    ({"arch": "inf2", "caveats": "--disable-dge"}, {}, "neuronx-cc trn1"),
])  # fmt: skip
def test_the_stack_follows_from_target_and_flags(texts, options, stack):
    assert published_stack(measurement(**texts), **options) == stack
