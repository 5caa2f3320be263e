"""torch_neuronx.xla_impl.custom_op: operators in a script's own C++."""

import pytest

torch = pytest.importorskip("torch")

from neuron_sim.run.torch_neuronx.xla_impl import custom_op  # noqa: E402

COMPUTE = """
#include <ATen/ATen.h>
at::Tensor halved(const at::Tensor& x, double least) {
  at::Tensor result = at::empty(x.sizes(), at::kFloat);
  auto from = x.accessor<float, 1>();
  auto to = result.accessor<float, 1>();
  for (int i = 0; i < x.size(0); i++) to[i] = from[i] / 2 < least ? least : from[i] / 2;
  return result;
}
"""
SHAPE = """
#include <ATen/ATen.h>
#include "torchneuron/register.h"
at::Tensor shape(at::Tensor x, double least) { return at::empty(x.sizes(), at::kFloat); }
NEURON_LIBRARY(neuron_sim_custom_op_test, m) { m.def("halve", &shape, "halved"); }
"""


def test_operators_in_cpp_run_as_fallbacks_that_are_counted(tmp_path):
    for name, text in (("compute.cpp", COMPUTE), ("shape.cpp", SHAPE)):
        (tmp_path / name).write_text(text)
    sources = {"compute_srcs": [tmp_path / "compute.cpp"], "shape_srcs": [tmp_path / "shape.cpp"]}
    with pytest.raises(NotImplementedError, match="multicore is not simulated"):
        custom_op.load("halve", **sources, multicore=True)
    with pytest.raises(ValueError, match="'halve': no NEURON_LIBRARY with an operator stands in"):
        custom_op.load("halve", sources["compute_srcs"], sources["compute_srcs"])
    custom_op.load("halve", **sources, build_directory=tmp_path)
    custom_op.load_library(tmp_path / "libhalve.so")
    torch.neuron_sim.reset_fallback_counts()
    halve = torch.ops.neuron_sim_custom_op_test.halve
    x = torch.tensor([4.0, 1.0], device=torch.neuron_sim.current_device())
    result = halve(x, 1.0)
    assert result.device == x.device and result.tolist() == [2, 1]
    assert torch.neuron_sim.fallback_counts() == {"neuron_sim_custom_op_test::halve": 1}
    assert halve(x.cpu(), 0.0).tolist() == [2, 0.5]
