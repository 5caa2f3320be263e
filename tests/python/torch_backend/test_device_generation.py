"""transformers' generate() samples on the device, in strict mode."""

import pytest
import torch
from device_type import DEVICE_TYPE
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY = 4000  # long enough that the first elements are selected, not sorted


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,  # tokens are not all equally likely
    )
    return LlamaForCausalLM(config).eval()


def tokens(model, prompt, **options):
    torch.manual_seed(7)
    return model.generate(prompt, max_new_tokens=8, do_sample=True, pad_token_id=0, **options)


@pytest.mark.parametrize("options", [{"top_k": 50}, {"top_k": 0, "top_p": 0.9}], ids=str)
def test_the_tokens_are_those_of_the_cpu_without_a_fallback(model, options):
    prompt = torch.randint(1, VOCABULARY, (2, 6))
    expected = tokens(model, prompt, **options)
    assert len(expected[:, 6:].unique()) > 8, "the model chooses among many tokens"
    model.to(DEVICE_TYPE)
    try:
        torch.neuron_sim.reset_fallback_counts()
        with torch.neuron_sim.strict():
            found = tokens(model, prompt.to(DEVICE_TYPE), **options)
        assert not torch.neuron_sim.fallbacks()
    finally:
        model.cpu()
    assert found.cpu().tolist() == expected.tolist()
