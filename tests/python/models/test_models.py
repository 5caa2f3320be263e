"""models/: both digits networks on the CPU and on the device, the C++ programs."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import neuron_sim.torch_device as neuron_sim_device
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "models"))
digits = importlib.import_module("digits")
demo = importlib.import_module("demo")

PROGRAMS = Path(os.environ.get("NEURON_SIM_MODELS_DIR", ROOT / "build/release/models"))
needs_programs = pytest.mark.skipif(
    not (PROGRAMS / "digits_cnn").is_file() or not (PROGRAMS / "custom_ops").is_file(),
    reason=f"the C++ programs of models/cpp are not built in {PROGRAMS}",
)
# TorchScript is deprecated for Python programs; C++ programs load models with it.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit")
DEVICES = [DEVICE_TYPE, f"{DEVICE_TYPE}:1"]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """The layers are too small to share among threads; several make training slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(one_thread):
    return digits.load_data()


@pytest.fixture(scope="module")
def losses():
    """Last mean loss by class of network, filled by `networks`."""
    return {}


@pytest.fixture(scope="module")
def networks(data, losses):
    """Both networks after few epochs, by class."""
    trained = {}
    with torch.random.fork_rng(devices=[]):
        for kind, epochs in ((digits.DigitsFeedForward, 12), (digits.DigitsCnn, 5)):
            torch.manual_seed(3)
            trained[kind] = kind()
            probabilities = kind is digits.DigitsFeedForward
            losses[kind] = digits.train(trained[kind], data, epochs, probabilities)
    return trained


@pytest.fixture(scope="module")
def exported(networks, data, tmp_path_factory):
    """TorchScript files of the CNN and of the test set."""
    folder = tmp_path_factory.mktemp("exported")
    return demo.export(networks[digits.DigitsCnn], digits.TestSet(data), folder)


def predictions(model, images):
    """Class of each image, as the model computes it on the device of `images`."""
    if isinstance(model, digits.DigitsFeedForward):
        return model.predict(images)
    return model(images).cpu().argmax(1)


def cnn_reference(model, images):
    """The CNN with torch.nn.functional."""
    for weight, bias in ((model.weight0, model.bias0), (model.weight1, model.bias1)):
        images = functional.conv2d(images, weight, bias, padding=1)
        images = functional.max_pool2d(functional.relu(images), 2)
    return images.flatten(1) @ model.weight2 + model.bias2


REFERENCES = {
    digits.DigitsFeedForward: demo.feed_forward_reference,
    digits.DigitsCnn: cnn_reference,
}
KINDS = pytest.mark.parametrize("kind", REFERENCES, ids=lambda kind: kind.__name__)


# Networks


def test_the_data_are_split_once_and_for_all(data):
    assert data.train_images.shape == (1348, 1, 8, 8)
    assert data.test_images.shape == (449, 1, 8, 8)
    assert data.train_images.min() == 0 and data.train_images.max() == 1
    assert set(data.test_labels.tolist()) == set(range(10))
    again = digits.load_data()
    assert torch.equal(again.test_images, data.test_images)
    assert len(digits.load_data(test_share=0.0).test_labels) == 0


@KINDS
def test_training_learns_the_digits(kind, networks, losses, data):
    found = predictions(networks[kind], data.test_images)
    assert losses[kind] < 0.5  # ln 10 = 2.3 without knowledge
    assert digits.accuracy(found, data.test_labels) > 85


@KINDS
def test_outputs_and_gradients_on_the_cpu_are_those_of_torch(kind, networks, data):
    model, images = networks[kind], data.train_images[:20]
    ours, expected = model(images), REFERENCES[kind](model, images)
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)
    weights = list(model.parameters())
    cotangent = torch.linspace(-1, 1, ours.numel()).view_as(ours)
    gradients = zip(
        torch.autograd.grad(ours, weights, cotangent),
        torch.autograd.grad(expected, weights, cotangent),
        strict=True,
    )
    for gradient, reference in gradients:
        torch.testing.assert_close(gradient, reference, rtol=1e-3, atol=1e-4)


@KINDS
@pytest.mark.parametrize("device", DEVICES)
def test_predictions_on_the_device_are_those_of_the_cpu(kind, device, networks, data):
    host = networks[kind]
    on_device = kind().to(device)
    on_device.load_state_dict(host.state_dict())
    images = data.test_images.to(device)
    neuron_sim_device.reset_fallback_counts()
    with torch.no_grad(), neuron_sim_device.strict():
        output = on_device(images)
        found = predictions(on_device, images)
    assert output.device == torch.device(DEVICE_TYPE, int(device[-1] == "1"))
    assert neuron_sim_device.fallback_counts() == {}
    assert torch.equal(found.cpu(), predictions(host, data.test_images))
    with torch.no_grad():
        expected = REFERENCES[kind](host, data.test_images)
    torch.testing.assert_close(output.cpu(), expected, rtol=1e-4, atol=1e-4)


@KINDS
@pytest.mark.parametrize("images", [0, 1, 129])
def test_batches_of_any_size_are_predicted(kind, images, networks, data):
    batch = data.test_images[:images]
    on_device = kind().to(DEVICE_TYPE)
    on_device.load_state_dict(networks[kind].state_dict())
    with torch.no_grad():
        found = predictions(on_device, batch.to(DEVICE_TYPE)).cpu()
        assert torch.equal(found, predictions(networks[kind], batch))
    assert found.shape == (images,) and found.dtype == torch.int64


@KINDS
def test_a_scripted_network_survives_saving_and_moving(kind, networks, data, tmp_path):
    path = str(tmp_path / "network.pt")
    torch.jit.script(networks[kind]).save(path)
    loaded = torch.jit.load(path).to(f"{DEVICE_TYPE}:1")
    with torch.no_grad():
        output = loaded(data.test_images.to(f"{DEVICE_TYPE}:1")).cpu()
        expected = networks[kind](data.test_images)
    assert torch.equal(output.argmax(1), expected.argmax(1))


# C++ programs


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


@needs_programs
@pytest.mark.parametrize("arguments", [(), *[(device,) for device in DEVICES]])
def test_the_cpp_program_predicts_what_python_predicts(arguments, exported, networks, data):
    result = run(PROGRAMS / "digits_cnn", *exported, *arguments)
    assert result.returncode == 0, result.stderr
    expected = predictions(networks[digits.DigitsCnn], data.test_images)
    lines = result.stdout.splitlines()
    shown = " ".join(map(str, expected[:16].tolist()))
    assert lines[0] == f"predictions on {(*arguments, DEVICE_TYPE)[0]}: {shown} ..."
    share = re.fullmatch(r"accuracy: (\S+) % of 449 images", lines[1])
    assert share, lines[1]
    assert float(share[1]) == pytest.approx(digits.accuracy(expected, data.test_labels), abs=1e-3)
    assert lines[2] == "predictions equal to the CPU's: yes"
    assert float(re.fullmatch(r"simulated latency: (\S+) us", lines[3])[1]) > 0


@needs_programs
def test_the_cpp_program_and_python_agree_on_the_simulated_time(exported, networks, data):
    def shown(*arguments):
        return float(run(PROGRAMS / "digits_cnn", *exported, *arguments).stdout.split()[-2])

    on_device = digits.DigitsCnn().to(DEVICE_TYPE)
    on_device.load_state_dict(networks[digits.DigitsCnn].state_dict())
    images = data.test_images.to(DEVICE_TYPE)
    with torch.no_grad(), neuron_sim_device.record_launches() as launches:
        on_device(images)
    kernels = sum(launch.latency_us for launch in launches)
    assert shown() == shown(f"{DEVICE_TYPE}:1") == pytest.approx(kernels, rel=1e-4)


@needs_programs
@pytest.mark.parametrize("count", [0, 1, 4])
def test_wrong_arguments_of_the_cpp_program_give_its_usage(count, exported):
    result = run(PROGRAMS / "digits_cnn", *[*exported, DEVICE_TYPE, "more"][:count])
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == "usage: digits_cnn MODEL.pt TESTSET.pt [DEVICE]\n"


@needs_programs
@pytest.mark.parametrize("model, device, part", [
    ("none.pt", DEVICE_TYPE, "none.pt"),
    (None, f"{DEVICE_TYPE}:9", "device index 9 is out of range; the devices are 0 to 1"),
    (None, "cpu", "DEVICE must be neuron_sim or neuron_sim:INDEX"),
    (None, "bananas", "bananas"),
])  # fmt: skip
def test_errors_of_the_cpp_program_are_one_line(model, device, part, exported):
    result = run(PROGRAMS / "digits_cnn", model or exported[0], exported[1], device)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("digits_cnn: ") and result.stderr.count("\n") == 1
    assert part in result.stderr


@needs_programs
def test_the_custom_ops_of_cpp_equal_those_of_torch():
    result = run(PROGRAMS / "custom_ops")
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    names = ["vector_add", "matmul", "transpose", "bias_add_activation", "conv2d_maxpool"]
    assert [line.split(":")[0] for line in lines[:5]] == names
    assert "WRONG" not in result.stdout
    assert lines[5].startswith("wrong shape: matmul: ")
    assert float(re.fullmatch(r"simulated time of device 0: (\S+) us", lines[6])[1]) > 0
