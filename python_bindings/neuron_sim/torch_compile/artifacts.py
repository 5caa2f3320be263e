"""What compiled graphs leave behind: cache artefacts of torch.compiler, and the files of the
vendor's TORCH_NEURONX_DEBUG_DIR (torch/reference/env-vars).

A compiled graph is no file: it names memories of its process. Its artefact says what it became, and
a process that has loaded it is warned when a graph of the same operators becomes something else.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheArtifactManager
from torch.fx import GraphModule

from neuron_sim.files import write_whole

_COMPARED = ("kernels", "kernels_after_fusion", "programs", "program_bodies_us")
_loaded: dict[str, dict[str, float]] = {}


@CacheArtifactFactory.register
class GraphArtifact(CacheArtifact):
    """The account of a compiled graph, by the key of its operators, sizes and options."""

    def populate_cache(self) -> None:
        """Makes note() compare graphs with it."""
        _loaded[self.key] = json.loads(self.content)

    @staticmethod
    def type() -> str:
        """The name in torch.compiler's CacheInfo: `neuron_artifacts`."""
        return "neuron"


def note(key: str, facts: dict[str, Any]) -> None:
    """Records the artefact of a graph. A warning says how it differs from a loaded one."""
    account = {name: facts[name] for name in _COMPARED}
    CacheArtifactManager.record_artifact("neuron", key, json.dumps(account).encode())
    earlier = _loaded.get(key, account)
    changes = [
        f"{name} is {account[name]}, was {earlier[name]}"
        for name in _COMPARED
        if account[name] != earlier[name]
    ]
    if changes:
        warnings.warn(
            f"a compiled graph differs from its cache artefact: {'; '.join(changes)}", stacklevel=2
        )


def write_files(name: str, graph: GraphModule, account: object) -> None:
    """Writes the text of a graph and its account, if TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS
    is 1, to fx_graphs/proc_RANK and programs/proc_RANK of TORCH_NEURONX_DEBUG_DIR."""
    if os.environ.get("TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS") != "1":
        return
    folder = os.environ.get("TORCH_NEURONX_DEBUG_DIR")
    root = Path(folder) if folder else Path(tempfile.gettempdir(), "neuron_backend")
    rank = f"proc_{os.environ.get('RANK', '0')}"
    readable = graph.print_readable(print_output=False)
    for kind, ending, text in (
        ("fx_graphs", "fx", readable),
        ("programs", "program", str(account)),
    ):
        (root / kind / rank).mkdir(parents=True, exist_ok=True)
        write_whole(root / kind / rank / f"{name}.{ending}.txt", text)
