"""Rows of whole networks: ResNet-50 and BERT-base in inference, float32, random weights."""

from __future__ import annotations

import copy

import torch
from resnet import random_resnet
from torch import Tensor, nn

from speed.figures import Figure, ratio
from speed.sizes import Sizes
from speed.timing import Work, alternate, seconds


def resnet(sizes: Sizes) -> tuple[nn.Module, Tensor]:
    """ResNet-50 and one image, on the host."""
    generator = torch.Generator().manual_seed(1)
    size = (1, 3, sizes.resnet_image, sizes.resnet_image)
    return random_resnet(sizes.resnet_depth), torch.randn(size, generator=generator)


def bert(sizes: Sizes) -> tuple[nn.Module, Tensor]:
    """BERT and one row of tokens, on the host."""
    # Here, because the other rows need not wait for it.
    import transformers

    config = transformers.BertConfig(**sizes.bert)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.BertModel(config).eval()
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, config.vocab_size, (1, sizes.tokens), generator=generator)
    return model, tokens


def on_device(network: nn.Module, inputs: Tensor) -> tuple[nn.Module, Tensor]:
    """Copies of both."""
    return copy.deepcopy(network).to("neuron_sim"), inputs.to("neuron_sim")


def compiled_call(network: nn.Module, *inputs: Tensor, **named: Tensor) -> Work:
    """A call of the network that the next run compiles anew."""
    torch._dynamo.reset()
    torch.neuron_sim.clear_kernel_cache()
    compiled = torch.compile(network, backend="neuron_sim")
    return lambda: compiled(*inputs, **named)


@torch.no_grad()
def against_torch(network: nn.Module, inputs: Tensor, sizes: Sizes) -> list[Figure]:
    """A network on the device, eager and compiled, against the host's, eager."""
    device_network, device_inputs = on_device(network, inputs)
    works = [
        lambda: device_network(device_inputs),
        compiled_call(device_network, device_inputs),
        lambda: network(inputs),
    ]
    eager, compiled, torchs = alternate(works, sizes.repetitions)
    return [ratio("eager", eager, torchs, "s"), ratio("compiled", compiled, torchs, "s")]


def resnet50(sizes: Sizes) -> list[Figure]:
    """Batch 1."""
    return against_torch(*resnet(sizes), sizes)


def bert_base(sizes: Sizes) -> list[Figure]:
    """Batch 1."""
    return against_torch(*bert(sizes), sizes)


@torch.no_grad()
def compiling_bert(sizes: Sizes) -> list[Figure]:
    """The first call of the compiled network, less a later one."""
    network, tokens = on_device(*bert(sizes))
    firsts, laters = [], []
    for _ in range(2):
        call = compiled_call(network, tokens)
        firsts.append(seconds(call))
        laters.append(seconds(call))
    return [Figure("first call", min(firsts) - min(laters), min(firsts), min(laters), "s")]
