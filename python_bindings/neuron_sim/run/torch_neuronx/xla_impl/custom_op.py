"""torch_neuronx.xla_impl.custom_op: operators of PyTorch in the script's own C++.

The chip runs them on the processors of the GpSimd engine, which are not simulated. Here the host
runs them, as a fallback: their data crosses the host link, and torch.neuron_sim.fallbacks() counts
them. (Page "Neuron Custom C++ Operators Developer Guide".)
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.utils import cpp_extension

__all__ = ["load", "load_library"]

_HEADER = """
#pragma once
#include <ATen/core/op_registration/infer_schema.h>
#include <torch/library.h>

// Declares operators; their kernels are registered for the CPU in the file that includes this one.
struct NeuronLibrary {
  torch::Library& library;
  template <class Shape>
  void def(const char* name, Shape*, const char*) {
    const auto schema = c10::inferFunctionSchemaFlattenedReturns<Shape>();
    library.def(schema.cloneWithName(name, ""));
  }
};
#define NEURON_LIBRARY(space, registration)                         \\
  static void declare_operators(NeuronLibrary);                     \\
  TORCH_LIBRARY(space, library) { declare_operators({library}); }   \\
  static void declare_operators(NeuronLibrary registration)
"""
_SPACE = re.compile(r"NEURON_LIBRARY\s*\(\s*(\w+)")
_OPERATOR = re.compile(r'\.def\s*\(\s*"(\w+)"\s*,[^,]+,\s*"(\w+)"\s*\)')


def load(
    name: str,
    compute_srcs: Sequence[str],
    shape_srcs: Sequence[str],
    build_directory: str | os.PathLike[str] | None = None,
    multicore: bool = False,
    verbose: bool = False,
) -> None:
    """Compiles the operators into lib<name>.so of the folder (the current one without), loads it.

    ValueError for shape functions that register no operator; NotImplementedError for `multicore`;
    RuntimeError with the compiler's messages for code that does not compile, as code that uses the
    engine's own memory.
    """
    if multicore:
        raise NotImplementedError("torch_neuronx.xla_impl.custom_op: multicore is not simulated")
    shapes = "\n".join(Path(source).read_text(encoding="utf-8") for source in shape_srcs)
    space, operators = _SPACE.search(shapes), _OPERATOR.findall(shapes)
    if space is None or not operators:
        raise ValueError(
            f"custom operators '{name}': no NEURON_LIBRARY with an operator stands in "
            + ", ".join(map(str, shape_srcs))
        )
    folder = Path(build_directory or ".").resolve()
    header = folder / "torchneuron" / "register.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(_HEADER, encoding="utf-8")
    sources = [Path(source).resolve() for source in (*compute_srcs, *shape_srcs)]
    kernels = [f'  m.impl("{operator}", &::{kernel});' for operator, kernel in operators]
    lines = [
        *(f'#include "{source}"' for source in sources),
        f"TORCH_LIBRARY_IMPL({space[1]}, CPU, m) {{",
        *kernels,
        "}\n",
    ]
    joined = folder / f"{name}_operators.cpp"
    joined.write_text("\n".join(lines), encoding="utf-8")
    cpp_extension.load(
        name=f"lib{name}",
        sources=[str(joined)],
        extra_include_paths=[str(folder)],
        build_directory=str(folder),
        is_python_module=False,
        verbose=verbose,
    )


def load_library(name: str | os.PathLike[str]) -> None:
    """Loads the operators of a library that `load` built."""
    torch.ops.load_library(os.path.abspath(name))
