"""Models from names, configuration files and functions."""

import json

import pytest
import torch
from neuron_sim.fidelity.published_models.inference import published
from neuron_sim.model.networks import NETWORKS, UNet, vgg11
from neuron_sim.model.workload import Request, load, names

SMALL_BERT = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 32,
    "intermediate_size": 48, "num_attention_heads": 4, "num_hidden_layers": 1,
    "max_position_embeddings": 16, "vocab_size": 50,
}  # fmt: skip


@pytest.fixture
def configuration(tmp_path):
    """Writes a configuration; returns its path as text."""

    def write(fields) -> str:
        file = tmp_path / "config.json"
        file.write_text(fields if isinstance(fields, str) else json.dumps(fields))
        return str(file)

    return write


def test_a_configuration_file_gives_its_model_and_tokens(configuration):
    workload = load(Request(configuration(SMALL_BERT), batch=3, sequence=16))
    assert type(workload.module).__name__ == "BertModel"
    assert not workload.module.training
    (tokens,) = workload.inputs
    assert tokens.shape == (3, 16)
    assert tokens.dtype == torch.int64
    assert 1 <= tokens.min() and tokens.max() < 50


def test_a_configuration_without_architectures_gives_the_model_without_a_head(configuration):
    fields = {name: value for name, value in SMALL_BERT.items() if name != "architectures"}
    assert type(load(Request(configuration(fields), sequence=2)).module).__name__ == "BertModel"


def test_weights_are_the_same_at_every_call_and_leave_the_callers_generator_alone(configuration):
    request = Request(configuration(SMALL_BERT), sequence=4)
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, second = load(request), load(request)
    assert torch.equal(torch.rand(1), expected)
    for one, other in zip(first.module.parameters(), second.module.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["vit-base-patch16-224", "google/ViT-Base-Patch16-224"])
def test_a_name_may_carry_its_organisation_and_capitals(name):
    workload = load(Request(name, batch=2))
    assert workload.inputs[0].shape == (2, 3, 224, 224)


def test_image_sizes_reach_the_configuration():
    workload = load(Request("vit-base-patch16-224", image=32))
    assert workload.inputs[0].shape == (1, 3, 32, 32)
    assert workload.module(*workload.inputs).logits.shape == (1, 1000)


def test_vgg11_has_the_parameters_of_its_paper():
    with torch.device("meta"):
        network = vgg11()
    assert sum(parameter.numel() for parameter in network.parameters()) == 132_863_336


def test_the_unet_keeps_the_size_of_its_images():
    network = UNet(classes=3, width=2).eval()
    assert network(torch.zeros(2, 3, 32, 48)).shape == (2, 3, 32, 48)


def test_every_published_model_has_a_name():
    assert {row["model"] for row in published()} <= set(names())
    assert set(NETWORKS) <= set(names())


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module `made_up` in the working directory, written from the source given."""

    def write(source: str) -> None:
        (tmp_path / "made_up.py").write_text("import torch\n" + source)
        monkeypatch.chdir(tmp_path)
        monkeypatch.delitem(__import__("sys").modules, "made_up", raising=False)

    return write


def test_a_function_may_return_a_module_with_its_inputs(module):
    module("def build():\n  return torch.nn.Linear(3, 4), (torch.zeros(5, 3),)\n")
    workload = load(Request("made_up:build"))
    assert workload.module(*workload.inputs).shape == (5, 4)


def test_a_function_may_return_a_module_of_images(module):
    module("def build():\n  return torch.nn.Conv2d(3, 4, 3)\n")
    assert load(Request("made_up:build", batch=2, image=8)).inputs[0].shape == (2, 3, 8, 8)


def test_a_function_that_returns_something_else_is_refused(module):
    module("def build():\n  return 7\n")
    with pytest.raises(
        ValueError, match="made_up:build returned an object of type int; it must return"
    ):
        load(Request("made_up:build"))


@pytest.mark.parametrize("inputs", ["torch.ones(2, 3)", "(1, 2)", "{'x': torch.ones(2)}"])
def test_inputs_that_are_no_tuple_of_tensors_are_refused(module, inputs):
    module(f"def build():\n  return torch.nn.Linear(3, 4), {inputs}\n")
    with pytest.raises(ValueError, match="made_up:build returned inputs of type .* of tensors"):
        load(Request("made_up:build"))


def test_a_module_without_the_function_is_refused(module):
    module("")
    with pytest.raises(ValueError, match="module 'made_up' has no function 'build'"):
        load(Request("made_up:build"))


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'nothing' is not a known model.*resnet50"):
        load(Request("nothing"))


@pytest.mark.parametrize("size", ["batch", "sequence", "image"])
def test_sizes_are_at_least_one(size):
    with pytest.raises(ValueError, match=f"--{size} is 0; it must be at least 1"):
        load(Request("resnet18", **{size: 0}))


def test_sequences_fit_the_positions_of_the_model(configuration):
    name = configuration(SMALL_BERT)
    assert load(Request(name, sequence=16)).inputs[0].shape == (1, 16)
    with pytest.raises(ValueError, match="--sequence is 17.*at most 16 positions"):
        load(Request(name, sequence=17))


@pytest.mark.parametrize(("text", "message"), [
    ("{", "is not JSON"),
    ("[]", "has no 'model_type'"),
    ("{}", "has no 'model_type'"),
    ('{"model_type": "bert", "architectures": ["NoneSuch"]}',
        "has the architecture 'NoneSuch', which transformers"),
    ('{"model_type": "none such"}', "has the model_type 'none such', which transformers"),
    ('{"model_type": ["bert"]}', "has the model_type '.'bert'.', which transformers"),
    ('{"model_type": "bert", "hidden_size": "wide"}', "is refused by transformers .*: "),
    ('{"model_type": "bert", "hidden_size": 10, "num_attention_heads": 3}',
        "is refused by transformers .*: ValueError: .*10.*"),
    ('{"model_type": "bert", "architectures": ["BertTokenizer"]}',
        "has the architecture 'BertTokenizer', which transformers"),
    (
        '{"model_type": "whisper", "architectures": ["WhisperModel"], "d_model": 8, '
        '"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 1, '
        '"decoder_attention_heads": 1, "vocab_size": 60000}',
        "takes 'input_features', for which no inputs can be made up"),
])  # fmt: skip
def test_files_that_give_no_model_are_refused(configuration, text, message):
    with pytest.raises(ValueError, match=message):
        load(Request(configuration(text)))
