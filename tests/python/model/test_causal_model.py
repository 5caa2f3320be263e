"""Any causal language model of transformers as prompt and token programs, whole and by ranks."""

import copy
import threading

import pytest
import torch
import transformers
from device_type import DEVICE_TYPE
from neuron_sim.model.causal_kernels import KERNELS
from neuron_sim.model.causal_model import CausalLanguageModel, program
from neuron_sim.model.generation import GenerationRequest, generate
from neuron_sim.model.heads import Rank
from neuron_sim.model.int8_weights import Int8Linear

WORDS = 96
CONTEXT = 12
PROMPT, TOKENS = 6, 8
ALL_HEADS = {
    "vocab_size": WORDS, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
SHARED = {**ALL_HEADS, "num_key_value_heads": 2}
WIDE = {**SHARED, "head_dim": 16}
EXPERTS = {"num_experts_per_tok": 2, "num_experts": 8, "moe_intermediate_size": 32}
GPT = {"vocab_size": WORDS, "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 64}
LATENT = {
    "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16, "v_head_dim": 16, "n_routed_experts": 8, "n_group": 2, "topk_group": 1,
    "first_k_dense_replace": 1,
}  # fmt: skip
SIZES = {
    "arcee": SHARED, "bloom": {**GPT, "hidden_size": 64}, "cohere": SHARED, "cohere2": SHARED,
    "ernie4_5": WIDE, "exaone4": SHARED,
    "deepseek_v3": {**ALL_HEADS, **EXPERTS, **LATENT}, "falcon": ALL_HEADS, "gemma": WIDE,
    "gemma2": WIDE, "gemma3_text": WIDE, "glm": WIDE, "glm4": WIDE, "gpt2": GPT,
    "gpt_bigcode": GPT, "gpt_neox": ALL_HEADS, "gpt_oss": {**WIDE, "num_local_experts": 8},
    "gptj": {**GPT, "rotary_dim": 8}, "granite": SHARED, "hunyuan_v1_dense": WIDE, "llama": SHARED,
    "ministral": WIDE, "mistral": {**WIDE, "sliding_window": 4},
    "mixtral": {**SHARED, "num_local_experts": 8},
    "olmo": SHARED, "olmo2": SHARED, "olmo3": SHARED,
    "opt": {**ALL_HEADS, "ffn_dim": 96, "word_embed_proj_dim": 64}, "persimmon": ALL_HEADS,
    "phi": SHARED, "phi3": SHARED, "qwen2": SHARED, "qwen3": WIDE,
    "qwen3_moe": {**WIDE, **EXPERTS}, "smollm3": SHARED, "stablelm": SHARED, "starcoder2": SHARED,
    "xglm": {"vocab_size": WORDS, "d_model": 64, "ffn_dim": 96, "attention_heads": 4,
             "num_layers": 2, "max_position_embeddings": 64},
}  # fmt: skip


def configured(kind, **sizes):
    return transformers.AutoConfig.for_model(kind, **{**SIZES[kind], **sizes})


def models(kind, **sizes):
    """One of transformers alone, and one with the kernels of programs and the same weights."""
    config = configured(kind, **sizes)
    torch.manual_seed(0)
    make = transformers.AutoModelForCausalLM.from_config
    model = make(copy.deepcopy(config), attn_implementation="eager").eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    by_hand = "sdpa" if model._supports_sdpa else "eager"
    kernels = KERNELS if model._supports_attention_backend else by_hand
    same = make(config, attn_implementation=kernels, experts_implementation=KERNELS)
    same.load_state_dict(model.state_dict())
    return model, same


def logits_of(run, words):
    """After the prompt and after each of the tokens that follow it."""
    position = torch.zeros(1, dtype=torch.int64, device=words.device)
    with torch.no_grad():
        logits = [run(words[:, :PROMPT], position)]
        for place in range(PROMPT, TOKENS):
            logits.append(run(words[:, place : place + 1], position + place))
    return torch.stack(logits, 1).cpu()


def expected_of(model, words):
    with torch.no_grad():
        return model(words).logits[:, PROMPT - 1 :]


class Thread(Rank):
    """A rank among threads of one process."""

    def exchange(self, part):
        barrier, everything = self.group
        everything[self.index] = part
        barrier.wait()
        copies = list(everything)
        barrier.wait()
        return copies

    def reduced(self, part):
        return sum(self.exchange(part))

    def gathered(self, part):
        return torch.cat(self.exchange(part), -1)


def logits_of_ranks(model, ranks, words, copies_keys=False):
    group = threading.Barrier(ranks), [None] * ranks
    logits, errors = [None] * ranks, []
    copies = [copy.deepcopy(model) for _ in range(ranks)]

    def run(index):
        try:
            rank = Thread(index, ranks, group, copies_keys)
            logits[index] = logits_of(program(copies[index], len(words), CONTEXT, rank), words)
        except Exception as error:
            errors.append(error)
            group[0].abort()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
    return logits


def check_one_graph(made, model):
    """Compares what a program computes with the model, within a thousandth of its logits."""
    words = torch.randint(0, WORDS, (2, TOKENS))
    torch._dynamo.reset()
    run = torch.compile(made.to(DEVICE_TYPE), backend=DEVICE_TYPE, dynamic=False, fullgraph=True)
    with torch.neuron_sim.strict():
        logits = logits_of(run, words.to(DEVICE_TYPE))
    expected = expected_of(model, words)
    torch.testing.assert_close(logits, expected, atol=1e-3 * float(expected.abs().max()), rtol=0)


@pytest.mark.parametrize("kind", SIZES)
def test_one_graph_has_the_logits_of_the_model(kind):
    model, same = models(kind)
    check_one_graph(program(same, 2, CONTEXT), model)


@pytest.mark.parametrize(("kind", "products"), [("llama", 14), ("gpt2", 8)])
def test_int8_weights_have_the_logits_of_their_scaled_values(kind, products):
    model, same = models(kind)
    made = program(same, 2, CONTEXT, weight_dtype="int8")
    narrow = {n: m for n, m in made.model.named_modules() if isinstance(m, Int8Linear)}
    assert len(narrow) == products
    for name, module in narrow.items():
        weight = model.get_submodule(name).weight
        scaled = module.weight * module.scale[:, None]
        scaled = scaled.T if kind == "gpt2" else scaled
        assert (scaled - weight).abs().max() <= 0.501 * module.scale.max()
        weight.data = scaled
    check_one_graph(made, model)


def test_experts_have_no_int8_weights():
    _, same = models("qwen3_moe")
    with pytest.raises(ValueError, match=r"no rule for the experts 'model.layers.0.mlp.experts'"):
        program(same, 1, CONTEXT, weight_dtype="int8")


@pytest.mark.parametrize("kind", SIZES)
def test_ranks_together_have_the_logits_of_the_model(kind):
    model, same = models(kind)
    words = torch.randint(0, WORDS, (2, TOKENS))
    expected = expected_of(model, words)
    for logits in logits_of_ranks(same, 2, words):
        torch.testing.assert_close(
            logits, expected, atol=1e-3 * float(expected.abs().max()), rtol=0
        )


@pytest.mark.parametrize(("kind", "ranks", "sizes"), [
    ("llama", 4, {}),  # two ranks share a head of keys
    ("llama", 2, {"num_attention_heads": 6, "num_key_value_heads": 3, "hidden_size": 96}),
    ("phi3", 2, {"num_attention_heads": 6, "num_key_value_heads": 3, "hidden_size": 96}),
    ("gpt2", 3, {}),
    ("qwen3_moe", 3, {"num_attention_heads": 6, "num_key_value_heads": 3}),
])  # fmt: skip
def test_heads_are_replicated_or_filled_up(kind, ranks, sizes):
    model, same = models(kind, **sizes)
    words = torch.randint(0, WORDS, (1, TOKENS))
    expected = expected_of(model, words)
    for logits in logits_of_ranks(same, ranks, words):
        torch.testing.assert_close(
            logits, expected, atol=1e-3 * float(expected.abs().max()), rtol=0
        )


def test_ranks_with_copies_of_heads_of_keys_have_the_logits_of_the_model():
    model, same = models("llama", num_attention_heads=8, num_key_value_heads=2)
    words = torch.randint(0, WORDS, (1, TOKENS))
    expected = expected_of(model, words)
    for logits in logits_of_ranks(same, 3, words, copies_keys=True):
        torch.testing.assert_close(
            logits, expected, atol=1e-3 * float(expected.abs().max()), rtol=0
        )


@pytest.mark.parametrize(("keys", "ranks", "own", "copies"), [
    (8, 4, 2, 2), (8, 8, 1, 1), (8, 12, 1, 2), (8, 16, 1, 1), (1, 2, 1, 8),
])  # fmt: skip
def test_a_rank_has_its_heads_of_keys_and_at_least_one(keys, ranks, own, copies):
    sizes = {"num_attention_heads": 16, "num_key_value_heads": keys, "head_dim": 8}
    model = CausalLanguageModel(configured("qwen3", **sizes), "small")
    for copies_keys, heads in ((False, own), (True, copies)):
        with torch.neuron_sim.one_rank_of(ranks), torch.device("meta"):
            made = model.program(ranks, 3, CONTEXT, copies_keys=copies_keys)
        assert made.keys_0.shape == made.values_1.shape == (3, heads, CONTEXT, 8)
        products = made.model.model.layers[0].self_attn
        assert products.q_proj.weight.shape == (-(-16 // ranks) * 8, 64)
        assert products.k_proj.weight.shape == (heads * 8, 64)


def test_a_module_without_a_rule_is_named():
    config = transformers.FalconH1Config(**SHARED)
    model = transformers.AutoModelForCausalLM.from_config(config)
    with pytest.raises(ValueError, match=r"no rule says .* module 'model.layers.0.mamba.in_proj'"):
        program(model, 1, CONTEXT, Rank(0, 2, ""))
    with pytest.raises(ValueError, match="layer 0 keeps a state that is not keys and values"):
        program(model, 1, CONTEXT)


@pytest.mark.parametrize("kind", ["opt", "xglm"])
def test_programs_are_timed_where_positions_are_learned(kind):
    model = CausalLanguageModel(configured(kind), "small")
    generation = generate(model, GenerationRequest(context=8, input=4))
    assert 0 < generation.decode.body_ms
    assert 0 < generation.prefill.body_ms


def test_what_is_no_language_model_is_refused():
    with pytest.raises(ValueError, match="'this' has the model_type 'vit', of which"):
        CausalLanguageModel(transformers.ViTConfig(), "this")
    with pytest.raises(ValueError, match="'this' has no list of its 0 layers"):
        CausalLanguageModel(configured("qwen2", num_hidden_layers=0), "this")


@pytest.mark.parametrize(("kind", "sizes"), [
    ("gemma3_text", {"num_hidden_layers": 8, "sliding_window": 8}),
    ("deepseek_v3", {"num_hidden_layers": 5}),
])  # fmt: skip
def test_layers_of_each_kind_stand_for_all(kind, sizes, monkeypatch):
    model = CausalLanguageModel(configured(kind, **sizes), "small")
    request = GenerationRequest(ranks=2, context=16, input=4)
    few = generate(model, request)
    monkeypatch.setattr("neuron_sim.model.generation.MEASURED_LAYERS", sizes["num_hidden_layers"])
    every = generate(model, request)
    for phase in ("prefill", "decode"):
        estimated, simulated = getattr(few, phase), getattr(every, phase)
        assert estimated.moved_mb == pytest.approx(simulated.moved_mb, rel=0.02)
        assert estimated.body_ms == pytest.approx(simulated.body_ms, rel=0.1)
