"""Accelerate, Hugging Face Trainer and Lightning train on the device; each case is a process of its
own, because the libraries choose a device once per process."""

import importlib.util
import os
import subprocess
import sys

import pytest
from device_type import DEVICE_TYPE, OWN_NAME
from neuron_sim import clients

BACKEND = DEVICE_TYPE


def needs(package: str):
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None, reason=f"the package {package} is not installed"
    )


def output_of(program: str, folder, **environment: str) -> str:
    """What the program prints, warnings included, in an environment that chooses no device."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ACCEL")}
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=inherited | OWN_NAME | environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    return result.stdout


STEPS = """
import torch
from accelerate import Accelerator
torch.manual_seed(0)
accelerator = Accelerator()
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = torch.utils.data.DataLoader(torch.randn(9, 4), batch_size=4)
model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
for batch in batches:
    assert batch.device == accelerator.device == next(model.parameters()).device
    loss = model(batch).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
print("trained on", accelerator.device, f"{loss.item():.4f}")
"""


@needs("accelerate")
def test_accelerate_trains_on_the_device_with_the_losses_of_the_cpu(tmp_path):
    default = output_of(STEPS, tmp_path)
    assert "trained on cpu" in default and "Accelerate knows no accelerators but its own" in default
    used = output_of(f"import neuron_sim.clients\nneuron_sim.clients.use()\n{STEPS}", tmp_path)
    assert "trained on neuron_sim:0" in used and "knows no accelerators" not in used
    assert used.split()[-1] == default.split()[-1]


@needs("accelerate")
def test_accelerates_own_setting_chooses_the_second_device_and_bf16_works_there(tmp_path):
    program = STEPS.replace("Accelerator()", "Accelerator(mixed_precision='bf16')")
    assert program != STEPS
    shown = output_of(program, tmp_path, ACCELERATE_TORCH_DEVICE=f"{DEVICE_TYPE}:1")
    assert "trained on neuron_sim:1" in shown and "knows no accelerators" not in shown


BERT = """
import neuron_sim.clients
neuron_sim.clients.use()
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
config = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                    intermediate_size=64, vocab_size=100)
"""


@needs("accelerate")
def test_the_trainer_trains_and_evaluates_on_the_device(tmp_path):
    program = (
        BERT
        + """
model = BertForSequenceClassification(config)
rows = [{"input_ids": torch.arange(8) + i, "labels": torch.tensor(i % 2)} for i in range(4)]
arguments = TrainingArguments("out", num_train_epochs=1, per_device_train_batch_size=2,
                              report_to=[], save_strategy="no")
trainer = Trainer(model, arguments, train_dataset=rows)
before = next(model.parameters()).detach().cpu().clone()
trainer.train()
after = next(model.parameters())
assert arguments.device == after.device == torch.device("neuron_sim:0"), (arguments.device, after)
assert not before.equal(after.detach().cpu())
assert 0 < trainer.evaluate(rows)["eval_loss"] < 5
assert torch.neuron_sim.simulated_time() > 0
"""
    )
    output_of(program, tmp_path)


@needs("accelerate")
def test_a_device_map_puts_a_model_on_the_device(tmp_path):
    program = (
        BERT
        + """
from transformers import BertModel
BertModel(config).save_pretrained("model")
for device_map in ("auto", "neuron_sim"):
    model = BertModel.from_pretrained("model", device_map=device_map)
    kinds = {parameter.device.type for parameter in model.parameters()}
    assert kinds == {"neuron_sim"}, (device_map, kinds)
    tokens = torch.arange(8, device="neuron_sim")[None]
    assert model(tokens).last_hidden_state.device.type == "neuron_sim"
"""
    )
    output_of(program, tmp_path)


LIGHTNING = """
import lightning, torch

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def training_step(self, batch, index):
        assert batch.device.type == self.device.type == "neuron_sim", (batch.device, self.device)
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

options = dict(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
batches = torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=4)
"""


@needs("lightning")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_lightning_trains_on_the_device(precision, tmp_path):
    program = (
        LIGHTNING
        + f"""
from neuron_sim.clients.lightning import strategy
trainer = lightning.Trainer(strategy=strategy("neuron_sim:1", {precision!r}), **options)
model = Model()
before = model.layer.weight.detach().clone()
trainer.fit(model, batches)
assert trainer.strategy.root_device == torch.device("neuron_sim:1")
assert not before.equal(model.layer.weight.detach().cpu())
"""
    )
    output_of(program, tmp_path)


@needs("lightning")
def test_lightning_says_how_where_it_would_take_the_cpu(tmp_path):
    program = (
        LIGHTNING
        + """
import warnings
from neuron_sim.clients.lightning import strategy
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    lightning.Trainer(**options)
assert any("Lightning knows no accelerators but its own" in str(each.message) for each in caught)
try:
    lightning.Trainer(accelerator="neuron_sim", **options).fit(Model(), batches)
except ValueError as error:
    assert "Trainer(strategy=neuron_sim.clients.lightning.strategy())" in str(error)
else:
    raise AssertionError("it trained on the CPU")
try:
    strategy(precision="16-mixed")
except ValueError as error:
    assert "'16-mixed'" in str(error)
else:
    raise AssertionError("16-mixed was accepted")
"""
    )
    output_of(program, tmp_path)


@pytest.mark.parametrize(("device", "error", "sentence"), [
    ("cpu", ValueError, "'cpu', which is no neuron_sim device"),
    (f"{DEVICE_TYPE}:99", RuntimeError, "device index 99 is out of range"),
])  # fmt: skip
def test_a_device_that_cannot_be_used_is_refused(device, error, sentence, monkeypatch):
    monkeypatch.delenv("ACCELERATE_TORCH_DEVICE", raising=False)
    with pytest.raises(error, match=sentence):
        clients.use(device)
    assert "ACCELERATE_TORCH_DEVICE" not in os.environ
