"""What `make demo` shows: networks trained on real data run on device="neuron_sim".

Per layer: op, shape, largest difference to torch.nn.functional, simulated time, utilisation of the
engines and the bottleneck. Then the vector additions of the course handout, the C++ TorchScript
program, and a trace to open in Perfetto.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import neuron_sim.torch_device  # noqa: F401  (the device, also without autoload)
import torch
from digits import (
    DigitsCnn,
    DigitsFeedForward,
    TestSet,
    accuracy,
    load_data,
    train,
)
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from torch import Tensor
from torch.nn import functional
from vector_additions import row_chunk_error, vector_additions

ROOT = Path(__file__).resolve().parent.parent
# Into a pipe or a file rich would write 80 columns.
CONSOLE = Console(width=min(100, shutil.get_terminal_size((100, 24)).columns))
OPS = torch.ops.neuron_sim
CHIP = torch.neuron_sim.get_device_properties().architecture
ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync", "DMA")


def announce(text: str) -> None:
    """One line of progress; never wrapped, so that a path in it can be copied."""
    CONSOLE.print(f"[bold cyan]>[/] {escape(text)}", soft_wrap=True)


def new_table(title: str) -> Table:
    """An empty table under a title, at most 100 columns wide."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
    )


def utilisation_text(launch: object) -> str:
    """The two busiest units, in percent."""
    shares = launch.utilisation  # type: ignore[attr-defined]
    busiest = sorted(ENGINES, key=lambda engine: -shares.get(engine, 0.0))[:2]
    return ", ".join(f"{engine} {100 * shares.get(engine, 0.0):.0f}%" for engine in busiest)


def layer_table(title: str) -> Table:
    """An empty table of layers."""
    table = new_table(title)
    table.add_column("op")
    table.add_column("output shape")
    table.add_column("max error", justify="right")
    table.add_column("simulated", justify="right")
    table.add_column("busiest units")
    table.add_column("bottleneck")
    return table


def add_layer(table: Table, name: str, run: Callable[[], Tensor], expected: Tensor) -> Tensor:
    """Runs one layer on the device and adds its row; returns its output."""
    with torch.neuron_sim.record_launches() as launches:
        output = run()
    error = float((output.cpu().float() - expected.float()).abs().max())
    latency = sum(launch.latency_us for launch in launches)
    last = launches[-1]
    table.add_row(
        name,
        " x ".join(map(str, output.shape)),
        f"{error:.1e}",
        f"{latency:.2f} us",
        utilisation_text(last),
        last.bottleneck,
    )
    return output


def show_cnn(model: DigitsCnn, images: Tensor) -> None:
    """The CNN layer by layer, each compared with torch.nn.functional on the same input."""
    host = model.cpu()
    device = DigitsCnn().to("neuron_sim")
    device.load_state_dict(host.state_dict())
    table = layer_table(f"digits CNN, {len(images)} images, {CHIP}")
    x = images.to("neuron_sim")
    for weight, bias in (("weight0", "bias0"), ("weight1", "bias1")):
        w, b = getattr(host, weight), getattr(host, bias)
        expected = functional.max_pool2d(
            functional.relu(functional.conv2d(x.cpu(), w, b, padding=1)), 2
        )
        dw, db = getattr(device, weight), getattr(device, bias)
        run = partial(OPS.conv2d_maxpool, x, dw, db, 2, padding=[1, 1], activation="relu")
        x = add_layer(table, "conv2d_maxpool", run, expected)
    flat = x.flatten(1)
    expected = functional.linear(flat.cpu(), host.weight2.t())
    x = add_layer(table, "matmul", lambda: OPS.matmul(flat, device.weight2), expected)
    run = partial(OPS.bias_add_activation, x, device.bias2, "identity")
    add_layer(table, "bias_add_activation", run, x.cpu() + host.bias2)
    CONSOLE.print(table)


def feed_forward_reference(model: DigitsFeedForward, images: Tensor) -> Tensor:
    """The network with torch.nn.functional."""
    x = functional.relu(images.flatten(1) @ model.weight0 + model.bias0)
    x = functional.relu(x @ model.weight1 + model.bias1)
    return functional.softmax(x @ model.weight2 + model.bias2, 1)


def show_feed_forward(model: DigitsFeedForward, images: Tensor) -> None:
    """The feed-forward net: one program for all layers, and one with the argmax."""
    expected = feed_forward_reference(model, images)
    device = DigitsFeedForward().to("neuron_sim")
    device.load_state_dict(model.state_dict())
    on_device = images.to("neuron_sim")
    table = layer_table(f"digits feed-forward net 64-96-48-10, {len(images)} images, {CHIP}")
    add_layer(table, "ffnn_forward", lambda: device(on_device), expected)
    add_layer(table, "ffnn_predict", lambda: device.predict(on_device), expected.argmax(1))
    CONSOLE.print(table)


def show_predictions(name: str, on_device: Tensor, reference: Tensor, labels: Tensor) -> bool:
    """Accuracy of both and whether all predictions are equal."""
    equal = bool(torch.equal(on_device.cpu(), reference))
    CONSOLE.print(
        f"  {name}: accuracy on the device {accuracy(on_device, labels):.2f} %, "
        f"on the CPU {accuracy(reference, labels):.2f} %, predictions equal: "
        f"{'[green]yes[/]' if equal else '[red]no[/]'}",
        soft_wrap=True,
    )
    return equal


def show_vector_add() -> None:
    """Part 1 of the Stanford CS149 handout: the effect of chunk sizes on `nc_latency`, which is
    the kernel with its launch, as `nki.benchmark` reports it."""
    table = new_table(f"vector additions of the handout in NKI (fp32, {CHIP})")
    for column in ("variant", "elements", "simulated nc_latency", "nc_latency on a chip"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    for addition in vector_additions(CHIP):
        measured = addition.measured_us
        table.add_row(
            addition.variant,
            str(addition.elements),
            f"{addition.simulated_us:.1f} us",
            "" if measured is None else f"{measured:.0f} us",
        )
    CONSOLE.print(table)
    CONSOLE.print("  nc_latency: the kernel, compiled as in the course, with its launch")
    CONSOLE.print("  ROW_CHUNK 256 is an error of the user:")
    message = f"[yellow]{escape(row_chunk_error())}[/]"
    CONSOLE.print(Padding(message, (0, 0, 0, 4)), highlight=False)


def export(model: DigitsCnn, test_set: TestSet, folder: Path) -> tuple[Path, Path]:
    """TorchScript files for the C++ program."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "digits_cnn.pt", folder / "digits_test.pt"
    with warnings.catch_warnings():  # the C++ program loads TorchScript, which torch deprecates
        warnings.simplefilter("ignore")
        torch.jit.script(model.cpu().eval()).save(str(paths[0]))
        torch.jit.script(test_set).save(str(paths[1]))
    return paths


def run_cpp(program: Path, paths: tuple[Path, Path]) -> bool:
    """Runs the C++ TorchScript program and shows what it prints."""
    result = subprocess.run(
        [str(program), *map(str, paths)], capture_output=True, text=True, check=False
    )
    for line in (result.stdout + result.stderr).splitlines():
        CONSOLE.print(f"  {line}", highlight=False, markup=False)
    return result.returncode == 0


def write_timeline(model: DigitsFeedForward, images: Tensor, path: Path) -> None:
    """A page with the timeline of the feed-forward net's program."""
    device = DigitsFeedForward().to("neuron_sim")
    device.load_state_dict(model.state_dict())
    with torch.neuron_sim.record_launches() as launches:
        device(images.to("neuron_sim"))
    path.parent.mkdir(parents=True, exist_ok=True)
    launches[0].write_timeline(path)


def train_both() -> tuple[DigitsFeedForward, DigitsCnn, TestSet]:
    """Trains both networks in seconds; returns them with the test data."""
    data = load_data()
    torch.manual_seed(3)
    net, cnn = DigitsFeedForward(), DigitsCnn()
    for name, model, epochs, probabilities in (
        ("feed-forward net", net, 30, True),
        ("CNN", cnn, 12, False),
    ):
        start = time.perf_counter()
        loss = train(model, data, epochs, probabilities)
        seconds = time.perf_counter() - start
        announce(
            f"trained the {name} on the CPU: loss {loss:.4f} after {epochs} epochs, {seconds:.1f} s"
        )
    return net, cnn, TestSet(data)


def show_whole_models(net: DigitsFeedForward, cnn: DigitsCnn, test_set: TestSet) -> bool:
    """Both networks as a whole; an operator without a device kernel would be an error."""
    x = test_set.images.to("neuron_sim")
    predicted = DigitsFeedForward().to("neuron_sim")
    predicted.load_state_dict(net.state_dict())
    convolutional = DigitsCnn().to("neuron_sim")
    convolutional.load_state_dict(cnn.state_dict())
    with torch.neuron_sim.strict():
        classes, logits = predicted.predict(x), convolutional(x)
    reference = feed_forward_reference(net, test_set.images).argmax(1)
    good = show_predictions("feed-forward net", classes, reference, test_set.labels)
    reference = cnn(test_set.images).argmax(1)
    return show_predictions("CNN", logits.cpu().argmax(1), reference, test_set.labels) and good


def parsed_options() -> argparse.Namespace:
    """The command line."""
    programs = os.environ.get("NEURON_SIM_MODELS_DIR", str(ROOT / "build/release/models"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out", help="folder for models and timeline"
    )
    parser.add_argument(
        "--cpp", type=Path, default=Path(programs) / "digits_cnn", help="the C++ program"
    )
    options = parser.parse_args()
    if not options.cpp.is_file():
        parser.error(f"there is no C++ program {options.cpp}: build it (make build) or give --cpp")
    return options


def main() -> int:
    """Returns 0 when every prediction on the device equals the CPU's."""
    options = parsed_options()
    torch.set_num_threads(1)  # these layers are too small to split among threads
    announce("handwritten digits: 1,797 images of 8 x 8 pixels")
    net, cnn, test_set = train_both()
    with torch.no_grad():
        announce("layer by layer on neuron_sim, compared with torch.nn.functional")
        show_cnn(cnn, test_set.images)
        show_feed_forward(net, test_set.images)
        announce("whole models on neuron_sim, strictly: no CPU fallback")
        good = show_whole_models(net, cnn, test_set)
        announce("vector additions of the course handout, as `neuron-sim run` runs them")
        show_vector_add()
        announce("the exported CNN in a C++ program (torch::jit::load)")
        good &= run_cpp(options.cpp, export(cnn, test_set, options.out))
        page = options.out / "digits_ffnn_timeline.html"
        write_timeline(net, test_set.images, page)
    announce(f"timeline, to open in a browser: {page}")
    CONSOLE.print(
        "[bold green]demo: all predictions equal[/]" if good else "[bold red]demo: FAILED[/]"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
