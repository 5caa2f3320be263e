"""Energy and area of a sweep: figures of energy.toml times what is counted by hand."""

import tomllib
from importlib import resources

import pytest
from neuron_sim.sweep import Study, energy, run_sweep
from test_sweep import FILE

FIGURES = tomllib.loads((resources.files(energy.__package__) / "energy.toml").read_text("utf-8"))
INPUTS = {"a": "bfloat16[768, 768]", "b": "bfloat16[768, 1024]"}
TILING = {"rows": (6,), "columns": (8,), "width": (128,), "depth": (6,)}


def product(**parameters):
    inputs = parameters.pop("inputs", INPUTS)
    return run_sweep(Study(f"{FILE}:product", TILING | parameters, inputs, "trn2", True))


def pj(name):
    return FIGURES[name]["value"]


def test_every_figure_names_its_source_and_unit():
    assert all(figure["value"] > 0 and figure["source"] and figure["unit"]
               for figure in FIGURES.values())  # fmt: skip


@pytest.mark.parametrize(("dtype", "figure"), [
    ("bfloat16", "product_16bit"), ("float32", "product_32bit"),
])  # fmt: skip
def test_energy_is_what_is_counted_times_the_published_figures(dtype, figure):
    (row,) = product(
        inputs={name: text.replace("bfloat16", dtype) for name, text in INPUTS.items()}
    )
    assert row["assumed_products_uj"] == pytest.approx(768 * 768 * 1024 * pj(figure) / 1e6)
    assert row["assumed_hbm_uj"] == pytest.approx(row["hbm_bytes"] * pj("hbm_byte") / 1e6)
    # Each product reads its moving operand from SBUF and adds to 4 bytes of PSUM.
    least = 768 * 1024 * 6 * (2 if dtype == "bfloat16" else 4) * pj("sram_byte") / 1e6
    assert least < row["assumed_sram_uj"] < 100 * least
    assert row["assumed_energy_uj"] == pytest.approx(
        row["assumed_products_uj"] + row["assumed_sram_uj"] + row["assumed_hbm_uj"]
    )


def test_area_is_relative_to_the_architecture_of_the_sweep():
    stock, wide, many = (
        run_sweep(Study(f"{FILE}:product", TILING | change, INPUTS, "trn2", True))[0]
        for change in ({"arch": ("trn2",)}, {"arch.sbuf.size": ("2x",)},
                       {"arch.limits.stationary_free": ("2x",)})
    )  # fmt: skip
    sbuf, psum, array = 24 * 7 / 6, 2, 128 * 128
    memories = pj("sram_mebibyte_area")
    area = (sbuf + psum) * memories + array * pj("multiplier_area")
    assert stock["assumed_relative_area"] == 1
    assert wide["assumed_relative_area"] == pytest.approx(1 + sbuf * memories / area)
    assert many["assumed_relative_area"] == pytest.approx(1 + array * pj("multiplier_area") / area)


def test_a_chip_of_a_file_is_compared_with_the_built_in_one_of_its_core(tmp_path):
    chip = tmp_path / "wide.toml"
    chip.write_text('base = "trn2"\nsbuf.size = "2x"\n')
    study = Study(f"{FILE}:product", TILING | {"arch.sbuf.size": ("1x", "0.5x")}, INPUTS, str(chip),
                  has_energy=True)  # fmt: skip
    wide, stock = (row["assumed_relative_area"] for row in run_sweep(study))
    assert wide > stock == 1


def test_only_a_study_that_asks_has_the_columns():
    rows = run_sweep(Study(f"{FILE}:product", TILING, INPUTS, "trn2"))
    assert not [name for name in rows[0] if name.startswith("assumed")]
    with pytest.raises(ValueError, match="'model:resnet18' is a model"):
        Study("model:resnet18", {"batch": (1,)}, has_energy=True)
