"""The typed stubs of nki.isa say what its functions take."""

import ast
import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
write_stubs = importlib.import_module("write_stubs")


@pytest.mark.parametrize("name", write_stubs.MODULES)
def test_a_stub_is_that_of_the_signatures(name):
    module = importlib.import_module(f"neuron_sim.{name}")
    path = write_stubs.ROOT.joinpath(*name.split("."), "__init__.pyi")
    text = path.read_text(encoding="utf-8")
    assert text == write_stubs.stub(module), "run tools/write_stubs.py"
    functions = {each.name: each for each in ast.parse(text).body if hasattr(each, "args")}
    assert len(functions) >= 30
    product = functions["nc_matmul"].args
    annotations = {
        each.arg: ast.unparse(each.annotation) for each in (*product.args, *product.kwonlyargs)
    }
    assert annotations["moving"] == "Tensor"
    assert annotations["is_transpose"] == "bool"
    assert ast.unparse(functions["tensor_scalar"].args.args[-1].annotation) in (
        "bool",
        "str | None",
    )
