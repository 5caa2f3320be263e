"""The order of variants of one operator."""

import pytest
from neuron_sim import command_line
from neuron_sim.fidelity.evaluate import Evaluated
from neuron_sim.fidelity.published import variant_order

VARIANTS = """
repository = "author/kernels"
commit = "0000000000000000000000000000000000000000"
arch = "trn2"
function = "kernel"
flags = "--disable-dge"
metric = "p50"

[[operator]]
name = "scale"
arguments = [[128, 8], 2.0]

[operator.measured]
a = 10
b = 10.4
c = 20
d = 30
e = 40
"""


@pytest.fixture
def variants(tmp_path):
    path = tmp_path / "variants.toml"
    path.write_text(VARIANTS)
    return variant_order.read_variants(path)


def outcomes(variants, times):
    return [
        Evaluated(each.measurement, {"published": time, "off": None}, has_kernel=True)
        for each, time in zip(variants, times, strict=True)
    ]


def test_a_variant_is_a_call_of_its_file_and_a_measured_ratio(variants):
    (launch,) = variants[1].kernel.launches
    assert launch.file == "workspaces/scale/runs/scale_b.py"
    assert launch.arguments == ({"dtype": "float32", "shape": [128, 8]}, 2.0)
    measured = variants[1].measurement
    assert (measured.value, measured.split, measured.family) == (10.4, "ratio", "scale")


def test_pairs_in_another_order_are_named_and_those_far_apart_as_well(variants):
    result = variant_order.report(outcomes(variants, [21.0, 1.0, 20.0, 45.0, 40.0]))
    scale = result["operators"]["scale"]
    assert (scale["variants"], scale["timed"], scale["pairs"]) == (5, 5, 9)
    assert scale["reversed"] == (
        ("trn2-scale-a", "trn2-scale-c"), ("trn2-scale-d", "trn2-scale-e"),
    )  # fmt: skip
    assert scale["reversed_far_apart"] == [("trn2-scale-d", "trn2-scale-e")]
    assert scale["rank_correlation"] == pytest.approx(0.6)
    *_, last = variant_order.lines(result)
    assert last.startswith("7 of 9 pairs measured 5% apart are in order (78%); 1 of the others")


def test_variants_without_a_checkout_have_reasons_and_no_order(tmp_path, capsys):
    arguments = ["fidelity", "--sources", str(tmp_path), "--variants", "--family", "silu"]
    assert command_line.main(arguments) == 0
    text = capsys.readouterr().out
    assert "silu                   0 of  10 timed" in text and "no checkout" in text
    with pytest.raises(SystemExit):
        command_line.main(["fidelity", "--variants"])
    assert "--variants needs --sources" in capsys.readouterr().err
