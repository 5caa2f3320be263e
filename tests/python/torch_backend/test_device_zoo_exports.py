"""torch.export of the networks of models/zoo, which then run on the device in strict mode."""

import importlib
import sys
from pathlib import Path

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.export.passes import move_to_device_pass

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "models"))
catalogue, forward, networks = (
    importlib.import_module(f"zoo.{name}") for name in ("catalogue", "forward", "networks")
)
DEVICE = f"{DEVICE_TYPE}:1"


def evaluated(build, *arguments):
    return catalogue.seeded(build, *arguments).eval()


SMALL = {
    "ResNet-18": lambda: (catalogue.random_resnet(18, 10), catalogue.images(1, 40)),
    "ViT": lambda: (catalogue.vit(48, 2, 3, 32), catalogue.images(2, 32)),
    "GPT-2": lambda: (catalogue.gpt2(48, 2, 3, 96), catalogue.tokens(2, 17, 96)),
    "Llama": lambda: (catalogue.llama(64, 2, 4, 96), catalogue.tokens(1, 19, 96)),
    "BERT": lambda: (catalogue.bert(48, 1, 3), catalogue.tokens(2, 7, 96)),
    "MobileNetV2": lambda: (catalogue.mobilenet_v2(64), catalogue.images(1, 64)),
    "U-Net": lambda: (evaluated(networks.UNet, 8), catalogue.images(1, 20)),
    "LSTM": lambda: (
        evaluated(networks.LstmLanguageModel, 96, 20, 2), catalogue.tokens(3, 5, 96)
    ),
}  # fmt: skip


class FirstOutput(torch.nn.Module):
    """Without caches and other outputs that are no tensors."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *inputs):
        return forward.first_output(self.network(*inputs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SMALL)
def test_an_exported_network_moves_to_the_device_and_runs_there(name):
    network, inputs = SMALL[name]()
    if hasattr(network, "config"):
        network.config.use_cache = False
    with torch.no_grad():
        expected = forward.first_output(network(*inputs))
        program = torch.export.export(FirstOutput(network), inputs)
        moved = move_to_device_pass(program, DEVICE).module()
        there = [x.to(DEVICE) for x in inputs]
        with device_module.strict():
            found = moved(*there)
    assert found.device == torch.device(DEVICE)
    assert forward.relative_error(found, expected.double()) < 1e-4
