"""Show where the time of a whole model goes, module by module.

  neuron-sim report bert-base-uncased --depth 4 --group
  neuron-sim report resnet50 --batch 8 --eager --html report.html
  neuron-sim report my_network:build --backward --markdown report.md --output report.json

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
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import SUCCESS
from neuron_sim.terminal.json_output import add_json
from neuron_sim.terminal.tables import print_table

if TYPE_CHECKING:
    from neuron_sim.layer_report.layer_report import LayerReport

SUMMARY = "time, MFU, traffic and memory of a model's modules"
FAILS = "the model fails, or does what the device refuses"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a name, a file or a function")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="size of the batch")
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
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS; the errors of `neuron-sim model`."""
    choose_architecture(arguments.arch)
    with faults_of(arguments.model):
        report = _report(arguments)
    for file, text in (
        (arguments.html, report.to_html),
        (arguments.markdown, report.to_markdown),
    ):
        if file is not None:
            write_whole(file, text())
    print_result(arguments, report.as_object(), lambda: _print(report))
    return SUCCESS


def _print(report: LayerReport) -> None:
    print_table(report.rows(report.depth), title=report.title)
    print("\n".join(report.notes))


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
