"""Runs the networks of the catalogue on the device and on the CPU, and writes docs/models.md.

    python models/zoo/report.py [--page docs/models.md] [NAME ...]

With names (GPT-2, "digits training", ...) only those run, and nothing is written unless --page says
where. Exits with 1 if anything falls back to the CPU or exceeds a limit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import transformers

from zoo.catalogue import CATALOGUE, Model
from zoo.compiled import COMPILED, TRAINED, compile_model, forward_pass, training_pass
from zoo.forward import Account, compare
from zoo.generation import GENERATORS, generate_named
from zoo.page import Page
from zoo.training import Training, train_characters, train_digits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
DTYPES = (torch.float32, torch.bfloat16)


def run_forward(model: Model, page: Page) -> list[str | None]:
    """Compares a network in each dtype; returns its problems."""
    problems = []
    for dtype in DTYPES:
        comparison = compare(model, dtype)
        page.add_forward(model, dtype, comparison)
        show(f"{model.name} {str(dtype)[6:]}", comparison.account, f"error {comparison.error:.1e}")
        problems.append(comparison.problem(dtype))
    return problems


def run_generation(name: str, page: Page) -> list[str | None]:
    """Generates with a network; returns its problems."""
    generation = generate_named(name)
    page.add_generation(name, generation)
    show(f"{name} generation", generation.account, generation.problem() or "the CPU's tokens")
    return [generation.problem()]


TRAININGS: dict[str, Callable[[], Training]] = {
    "digits": train_digits,
    "characters": train_characters,
}


def run_training(name: str, page: Page) -> list[str | None]:
    """Trains a network; returns its problems."""
    training = TRAININGS[name]()
    page.add_training(name, training)
    result = f"largest difference of a loss {training.largest_difference:.1e}"
    show(f"{name} training", training.account, result)
    return [training.problem()]


def run_compiled(model: Model, trains: bool, page: Page) -> list[str | None]:
    """Compiles a network; returns its problems."""
    compilation = compile_model(model, training_pass if trains else forward_pass)
    name = f"{model.name}, forward and backward" if trains else model.name
    page.add_compiled(name, compilation)
    eager, compiled = compilation.eager, compilation.compiled
    print(
        f"{name} compiled: {compilation.speed_up:.2f} times as fast, {eager.body_ms:.3f} ms in "
        f"{eager.launches} kernels, {compiled.body_ms:.3f} ms in {compiled.launches} programs",
        flush=True,
    )
    return [compilation.problem(name)]


def show(name: str, account: Account, result: str) -> None:
    """One line of progress."""
    print(
        f"{name}: {result}, {account.body_ms:.3f} ms in {account.launches} kernels, "
        f"{account.host_seconds:.1f} s on the host",
        flush=True,
    )


def all_runs() -> dict[str, Callable[[Page], list[str | None]]]:
    """The runs that the command offers, by name."""
    return {
        **{model.name: partial(run_forward, model) for model in CATALOGUE},
        **{f"{name} generation": partial(run_generation, name) for name in GENERATORS},
        **{f"{model.name} compiled": partial(run_compiled, model, False) for model in COMPILED},
        **{
            f"{model.name} gradients compiled": partial(run_compiled, model, True)
            for model in TRAINED
        },
        **{f"{name} training": partial(run_training, name) for name in TRAININGS},
    }


def run(name: str, work: Callable[[Page], list[str | None]], page: Page) -> list[str]:
    """Runs one of them; its problems as lines. An operator without a kernel is one."""
    try:
        problems = work(page)
    except NotImplementedError as error:
        problems = [str(error)]
    return [f"{name}: {problem}" for problem in problems if problem]


def main() -> int:
    """The command."""
    runs = all_runs()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--page", type=Path, help="where the tables are written")
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(runs))
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in runs]:
        parser.error(f"there is no {unknown[0]}; there are: {', '.join(runs)}")
    torch.set_num_threads(1)  # the layers are too small to split among threads
    transformers.logging.set_verbosity_error()
    page = Page()
    problems: list[str] = []
    for name in options.names or runs:
        problems += run(name, runs[name], page)
    for problem in problems:
        print(f"FAILED: {problem}")
    target = options.page or (None if options.names or problems else PAGE)
    if target:
        target.write_text(page.text())
        print(f"written: {target}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
