"""Which operators torch_neuronx says ran on the device and on the CPU."""

from neuron_process import run

TRACKING = """
import torch, torch_neuronx
x = torch.arange(4.0, device="neuron").reshape(2, 2)
torch_neuronx.clear_op_tracking()
print(torch_neuronx.get_executed_ops(), torch_neuronx.get_fallback_ops())
x = (x + 1 + x) @ x
x.view(4)
print(torch_neuronx.get_executed_ops(), torch_neuronx.get_fallback_ops())
torch.linalg.qr(x)
print("aten::linalg_qr" in torch_neuronx.get_executed_ops(), torch_neuronx.get_fallback_ops())
torch_neuronx.clear_op_tracking()
print(torch_neuronx.get_executed_ops(), torch_neuronx.get_fallback_ops())
"""


def test_operators_are_tracked_where_they_ran(tmp_path):
    assert run(TRACKING, tmp_path, NEURON_SIM_FALLBACK="allow") == [
        "[] []",
        "['aten::add', 'aten::mm'] []",
        "False ['aten::linalg_qr']",
        "[] []",
    ]
