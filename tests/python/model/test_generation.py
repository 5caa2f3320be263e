"""Generation by a tensor-parallel group: the times of one rank."""

import json

import pytest
import torch
import transformers
from neuron_sim.command_line import main
from neuron_sim.fidelity.published_models import generation as published_generations
from neuron_sim.model import capacity
from neuron_sim.model.causal_model import CausalLanguageModel
from neuron_sim.model.generation import MEASURED_LAYERS, GenerationRequest, generate
from neuron_sim.model.instances import instance
from neuron_sim.model.workload import language_model
from neuron_sim.terminal.exit_codes import WRONG_USAGE
from neuron_sim.timeline import read_timeline

SMALL = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 16,
    "rms_norm_eps": 1e-5,
}  # fmt: skip


def small_llama(**sizes):
    return CausalLanguageModel(transformers.LlamaConfig(**{**SMALL, **sizes}), "small")


def test_int8_weights_cross_hbm_as_bytes():
    model = small_llama(hidden_size=256, intermediate_size=1024, num_hidden_layers=1)
    layer = 256 * (2 * 256 + 2 * 128) + 3 * 256 * 1024  # its weights
    scales = 2 * 256 + 2 * 128 + 2 * 1024 + 256  # a number per output
    plain, narrow = (
        generate(model, GenerationRequest(context=16, input=4, weight_dtype=dtype))
        for dtype in (None, "int8")
    )
    assert plain.hbm_bytes - narrow.hbm_bytes == pytest.approx(layer - 2 * scales, abs=2048)
    for phase in ("prefill", "decode"):
        wide, bytes_only = (getattr(each, phase).moved_mb for each in (plain, narrow))
        # The scales are read for every row of a product's result.
        assert wide - bytes_only == pytest.approx(layer / 1e6, rel=0.05)


def test_a_logical_core_of_two_computes_as_two_ranks():
    model = small_llama()
    sizes = {"context": 16, "input": 4}
    logical, ranks = (
        generate(model, GenerationRequest(ranks=n, logical_core=m, **sizes))
        for n, m in ((2, 2), (4, 1))
    )
    assert (logical.decode, logical.prefill) == (ranks.decode, ranks.prefill)
    assert logical.hbm_bytes == ranks.hbm_bytes
    with pytest.raises(ValueError, match="--lnc is 3; a logical core of trn2 has at most 2 phys"):
        generate(model, GenerationRequest(logical_core=3, **sizes))
    assert instance("trn2.3xlarge").groups(2, logical_core=2) == 2
    with pytest.raises(ValueError, match="--tp is 5; an trn2.3xlarge has 4 logical cores of 2"):
        instance("trn2.3xlarge").groups(5, logical_core=2)


@pytest.mark.parametrize(("sizes", "sentence"), [
    ({"num_hidden_layers": 0}, "'small' has no list of its 0 layers"),
    ({"num_key_value_heads": 3}, "'small' has 4 heads, .* its 3 key heads"),
])  # fmt: skip
def test_a_configuration_whose_sizes_cannot_be_is_refused(sizes, sentence):
    with pytest.raises(ValueError, match=sentence):
        small_llama(**sizes)


def test_the_cores_of_a_chip_share_its_hbm():
    total = torch.neuron_sim.get_device_properties().total_memory
    cores = 8  # of a trn2
    for count, on_chip in ((1, 1), (2, 2), (cores, cores), (3 * cores, cores)):
        assert capacity.of_core(count) == total / on_chip
        capacity.check(total // on_chip, count)
        with pytest.raises(torch.OutOfMemoryError, match="more cores"):
            capacity.check(total // on_chip + 1, count)


def test_layers_beyond_the_measured_ones_add_what_one_layer_adds():
    request = GenerationRequest(ranks=2, context=16, input=4)

    def body(layers):
        return generate(small_llama(num_hidden_layers=layers), request).decode.body_ms

    one, measured = body(1), body(MEASURED_LAYERS)
    step = (measured - one) / (MEASURED_LAYERS - 1)
    assert body(MEASURED_LAYERS + 4) == pytest.approx(measured + 4 * step)


def test_one_layer_is_ordered_as_several_are(monkeypatch):
    asked = []
    compile_graph = torch.compile

    def noted(*arguments, options, **others):
        asked.append(options["left_out"])
        return compile_graph(*arguments, options=options, **others)

    monkeypatch.setattr(torch, "compile", noted)
    model = small_llama(num_hidden_layers=MEASURED_LAYERS + 1)
    generate(model, GenerationRequest(context=16, input=4))
    prompt, _, token, _ = torch.neuron_sim.compiled_graphs()[-4:]  # each of several, then of one
    assert asked == [None, prompt.left_out, None, token.left_out]


def test_llama_2_has_the_weights_that_it_is_known_for():
    with torch.device("meta"):
        program = language_model("meta-llama/Llama-2-7b").program(1, 1, 16)
    assert sum(parameter.numel() for parameter in program.parameters()) == 6_738_415_616


def test_sizes_that_do_not_fit_are_refused():
    for request, sentence in (
        (GenerationRequest(ranks=0), "--tp is 0"),
        (GenerationRequest(context=4, input=5), "--input is 5; the context has room for 4"),
        (
            GenerationRequest(context=1025),
            "--context is 1025; the model has positions for 1024 tokens",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            request.check(language_model("gpt2").longest)
    GenerationRequest(context=1024).check(language_model("gpt2").longest)
    GenerationRequest(context=8192).check(language_model("llama-2-7b").longest)
    with pytest.raises(ValueError, match="--tp is 25; an inf2.48xlarge has 24 cores"):
        instance("inf2.48xlarge").groups(25)
    assert instance("trn1.32xlarge").groups(8) == 4
    with pytest.raises(ValueError, match="'p4d' is not one of the instances inf2.xlarge"):
        instance("p4d")
    with pytest.raises(ValueError, match="model_type 'bert', of which transformers has no causal"):
        language_model("bert-base-uncased")


def test_a_published_row_is_simulated_on_the_architecture_of_its_instance(monkeypatch, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": "llama", **SMALL}))
    sizes = {"ranks": 4, "batch": 2, "context": 16, "input": 4, "weights": "bf16"}
    measured = {"model": str(file), "ttft_ms": 1.0, "tpot_ms": 1.0}
    instances = ("inf2.48xlarge", "trn1.32xlarge")
    rows = [{**measured, **sizes, "instance": each} for each in instances]
    monkeypatch.setattr(published_generations, "published_generation", lambda: rows)
    inf2, _, trn1, _ = published_generations.compare()
    # Only what crosses the links between the two chips differs: a few bytes at 96 or 192 per ns.
    assert trn1.simulated_ms < inf2.simulated_ms < 1.01 * trn1.simulated_ms
    here, _, there, _ = published_generations.compare(everywhere=True)
    assert here.simulated_ms == there.simulated_ms
    assert here.simulated_ms not in (inf2.simulated_ms, trn1.simulated_ms)


def test_the_command_prints_a_row_per_number_of_cores_and_batch(capsys, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": "llama", **SMALL}))
    sizes = ["--tp", "2", "4", "--context", "16", "--input", "4", "--batch", "1", "2"]
    assert main(["model", str(file), *sizes, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["ranks"], row["batch"]) for row in rows] == [(2, 1), (2, 2), (4, 1), (4, 2)]
    for row in rows:
        assert row["tokens_per_second"] == pytest.approx(1e3 * row["batch"] / row["tpot_ms"])
        assert row["decode"]["bound"]
    assert main(["model", str(file), *sizes]) == 0
    assert "TPOT ms" in capsys.readouterr().out


def test_the_page_of_a_token_has_every_layer_and_its_collectives(capsys, tmp_path):
    layers = MEASURED_LAYERS + 4
    file, page = tmp_path / "config.json", tmp_path / "token.html"
    file.write_text(json.dumps({"model_type": "llama", **SMALL, "num_hidden_layers": layers}))
    sizes = ["--tp", "2", "--context", "16", "--input", "4"]
    assert main(["model", str(file), *sizes, "--timeline", str(page), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    run = read_timeline(page)
    assert run.header["body"] / 1e9 == pytest.approx(row["tpot_ms"], rel=0.05)
    assert run.header["path"]["collective"] > 0
    names = {each["name"] for each in run.header["names"]["instructions"]}
    assert names >= {f"layers[{i}]" for i in range(layers)} and f"layers[{layers}]" not in names


@pytest.mark.parametrize(("options", "sentence"), [
    (["--tp", "2", "--sequence", "64"], "--sequence has no effect on generation"),
    (["--context", "64", "--eager"], "--eager has no effect on generation"),
    (["--tp", "2", "--image", "32"], "--image has no effect on generation"),
    (["--tp", "2", "--auto-cast", "matmult"], "--auto-cast has no effect on generation"),
    (["--input", "64"], "--input is of a decoder that generates"),
    (["--weight-dtype", "int8"], "--weight-dtype is of a decoder that generates"),
    (["--tp", "2", "4", "--timeline", "x.html"], "--timeline is the page of one run"),
    (["--timeline", "no/such/x.html"], "--timeline no/such/x.html: no file can be written there."),
])  # fmt: skip
def test_an_option_without_effect_is_refused(options, sentence, capsys):
    assert main(["model", "llama-2-7b", *options]) == WRONG_USAGE
    assert sentence in capsys.readouterr().err


def test_an_unknown_decoder_is_answered_with_the_known_ones(capsys):
    assert main(["model", "llama-9", "--tp", "2"]) == WRONG_USAGE
    error = capsys.readouterr().err
    assert "'llama-9' is not a known decoder" in error
    assert "llama-2-7b" in error and "resnet50" not in error
