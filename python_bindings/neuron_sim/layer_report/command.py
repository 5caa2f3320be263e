"""Show where the time of a whole model goes, module by module.

  neuron-sim report bert-base-uncased --depth 4 --group
  neuron-sim report resnet50 --batch 8 --eager --html report.html
  neuron-sim report my_network:build --backward --markdown report.md --json report.json

MODEL is a name (see `neuron-sim model --list`), a configuration file of transformers (config.json),
or module:function. Weights are random. Each module has its simulated time and share, MFU (model
FLOP utilisation), bytes read from and written to HBM, the most HBM that tensors took meanwhile, and
launches. The rows below a module sum to it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from neuron_sim.files import write_whole
from neuron_sim.model.options import add_workload_arguments, choose_architecture, faults_of
from neuron_sim.terminal.tables import print_table

if TYPE_CHECKING:
    from neuron_sim.layer_report.layer_report import LayerReport

SUMMARY = "time, MFU, traffic and memory of a model's modules"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a name, a file or a function")
    parser.add_argument(
        "--batch", type=int, default=1, metavar="N", help="size of the batch; default: 1"
    )
    add_workload_arguments(parser)
    parser.add_argument(
        "--backward", action="store_true", help="a forward and a backward pass, in training mode"
    )
    parser.add_argument(
        "--depth", type=int, metavar="N", help="levels of modules below the model; default: all"
    )
    parser.add_argument(
        "--group", action="store_true", help="one row for modules of one parent that are alike"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page for a browser")
    parser.add_argument("--markdown", metavar="FILE", help="write a table in Markdown")
    parser.add_argument("--json", metavar="FILE", help="write all figures with all digits")


def run(arguments: argparse.Namespace) -> int:
    """0; ValueError with the sentence of whatever is refused, as `neuron-sim model`."""
    choose_architecture(arguments.arch)
    with faults_of(arguments.model):
        report = _report(arguments)
    for file, text in (
        (arguments.html, report.to_html),
        (arguments.markdown, report.to_markdown),
        (arguments.json, report.to_json),
    ):
        if file is not None:
            write_whole(file, text())
    print_table(report.rows(report.depth), title=report.title)
    print("\n".join(report.notes))
    return 0


def _report(arguments: argparse.Namespace) -> LayerReport:
    from neuron_sim.layer_report import measured_report  # imports torch
    from neuron_sim.model import estimate, workload  # as above

    request = workload.Request(
        arguments.model, arguments.batch, arguments.sequence, arguments.image
    )
    setting = estimate.Setting(arguments.dtype, not arguments.eager, arguments.auto_cast)
    work = workload.load(request)
    work.module.train(arguments.backward)
    _, call, inputs = estimate.placed(work, setting)
    return measured_report.measured_report(
        call,
        inputs,
        backward=arguments.backward,
        depth=arguments.depth,
        group=arguments.group,
        dtype=setting.product_dtype,
    )
