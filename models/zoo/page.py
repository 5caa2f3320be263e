"""docs/models.md: tables of report.py's results."""

from __future__ import annotations

import re
from pathlib import Path

import torch
import transformers

from zoo.catalogue import Model
from zoo.compiled import ERROR_LIMIT, LIMITED, SPEED_UP_LIMIT, STAGES, Compilation
from zoo.forward import BFLOAT16_FACTOR, FLOAT32_LIMIT, Account, Comparison
from zoo.generation import Generation
from zoo.training import ACCURACY_LIMIT, COMPARED_STEPS, FINAL_LIMIT, STEP_LIMIT, Training

TEMPLATE = Path(__file__).resolve().parents[2] / "tools" / "templates" / "models.md"
"""The words and the heads of the tables, with places for the figures."""


def _costs(account: Account) -> str:
    return (
        f"| {account.launches:,} | {account.body_ms:,.3f} | {account.total_ms:,.3f} "
        f"| {account.busiest} {100 * account.busiest_share:.0f}% "
        f"| {sum(account.fallbacks.values())} | {account.host_seconds:.1f} |"
    )


def _operators(counts: dict[str, int]) -> str:
    named = [f"`{name.removeprefix('aten::')}` {count}" for name, count in sorted(counts.items())]
    return ", ".join(named)


class Page:
    """Collects rows, in the order in which they are added."""

    def __init__(self) -> None:
        self.forward: list[str] = []
        self.generation: list[str] = []
        self.training: list[str] = []
        self.compiled: list[str] = []
        self.host_operators: list[str] = []

    def add_forward(self, model: Model, dtype: torch.dtype, comparison: Comparison) -> None:
        """A network in one dtype."""
        name = str(dtype).removeprefix("torch.")
        self.forward.append(
            f"| {model.name} | {model.configuration} | {name} | {comparison.error:.1e} "
            f"| {comparison.cpu_error:.1e} {_costs(comparison.account)}"
        )
        self._add_operators(f"{model.name}, {name}", comparison.account)

    def add_generation(self, name: str, generation: Generation) -> None:
        """The tokens that a network generated."""
        prompts, length = generation.on_cpu.shape
        equal = "no" if generation.problem() else "yes"
        self.generation.append(
            f"| {name} | {prompts} | {generation.prompt_length} "
            f"| {length - generation.prompt_length} | {equal} {_costs(generation.account)}"
        )
        self._add_operators(f"{name}, generation", generation.account)

    def add_training(self, name: str, training: Training) -> None:
        """The training of a network."""
        ours, cpu = training.final_losses
        known = "" if training.accuracy is None else f"{training.accuracy:.2f}%"
        self.training.append(
            f"| {name} | {len(training.on_cpu)} | {training.on_cpu[0]:.3f} "
            f"| {training.largest_difference:.1e} | {ours:.4f} | {cpu:.4f} "
            f"| {100 * training.final_difference:.2f}% | {known} {_costs(training.account)}"
        )
        self._add_operators(f"{name}, training", training.account)

    def add_compiled(self, name: str, compilation: Compilation) -> None:
        """The effect of torch.compile on a network."""
        eager, compiled = compilation.eager, compilation.compiled
        stages = " | ".join(f"{cost.body_ms:.3f}" for cost in compilation.stages.values())
        self.compiled.append(
            f"| {name} | {eager.body_ms:.3f} | {stages} | {compilation.speed_up:.2f} "
            f"| {eager.launches} to {compiled.launches} "
            f"| {eager.moved_mb:.1f} to {compiled.moved_mb:.1f} | {compilation.error:.1e} |"
        )

    def _add_operators(self, name: str, account: Account) -> None:
        if account.host_operators:
            self.host_operators.append(f"| {name} | {_operators(account.host_operators)} |")

    def text(self) -> str:
        """The page, without the sections to which nothing was added."""
        template = TEMPLATE.read_text(encoding="utf-8")
        *sections, host = re.split(r"(?=^## )", template, flags=re.MULTILINE)
        kept = [
            each
            for each in sections
            if all(vars(self).get(name, True) for name in re.findall(r"{(\w+)}", each))
        ]
        rows = {name: "\n".join(lines) for name, lines in vars(self).items()}
        return "".join([*kept, host]).format(
            **rows,
            device=torch.neuron_sim.get_device_name().replace(", simulated", ""),
            torch=torch.__version__.split("+")[0],
            transformers=transformers.__version__,
            float32_limit=FLOAT32_LIMIT,
            factor=BFLOAT16_FACTOR,
            speed_up=SPEED_UP_LIMIT,
            limited=" and ".join(LIMITED),
            error=ERROR_LIMIT,
            stages=" | ".join(STAGES),
            stage_rules="---:|" * len(STAGES),
            steps=COMPARED_STEPS,
            step_limit=STEP_LIMIT,
            final_limit=100 * FINAL_LIMIT,
            accuracy=ACCURACY_LIMIT,
        )
