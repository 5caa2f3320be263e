"""Parameters as the command line writes them."""

import pytest
from neuron_sim.sweep.values import parse_parameter


@pytest.mark.parametrize(("text", "name", "values"), [
    ("a=1", "a", (1,)),
    ("a=1,2.5,true,false,2x", "a", (1, 2.5, True, False, "2x")),
    (" arch.hbm.bandwidth = 1x , 2x ", "arch.hbm.bandwidth", ("1x", "2x")),
    ("n=128:512:128", "n", (128, 256, 384, 512)),
    ("n=1:10:4", "n", (1, 5, 9)),
    ("n=64:512:x2", "n", (64, 128, 256, 512)),
    ("n=3:3:1", "n", (3,)),
    ("n=-2:2:2,7", "n", (-2, 0, 2, 7)),
    ("arch=trn1,C:/a:b.toml", "arch", ("trn1", "C:/a:b.toml")),
])  # fmt: skip
def test_values_are_numbers_flags_texts_and_ranges(text, name, values):
    found = parse_parameter(text)
    assert found == (name, values)
    assert [type(each) for each in found[1]] == [type(each) for each in values]


@pytest.mark.parametrize(
    "text",
    ["a", "=1", "a=", "a=1,,2", "a=1,1", "n=4:1:1", "n=1:4:0", "n=1:4:x1", "n=0:8:x2", "n=a:b:c"],
)
def test_anything_else_is_refused_and_quoted(text):
    with pytest.raises(ValueError, match="'"):
        parse_parameter(text)
