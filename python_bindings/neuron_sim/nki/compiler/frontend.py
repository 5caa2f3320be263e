"""nki.compiler.frontend: kernels traced without being run, for tests of what a kernel refuses."""

from typing import Any

from neuron_sim import _core

from ..kernel import Kernel, jit
from ..launch.traced_kernel import TracedKernel


class NKIFrontend:
    """What turns a kernel into a program; the vendor has two, which do the same here."""

    def compile(
        self,
        kernel: Any,
        *,
        inputs: dict[str, Any],
        target: str,
        lnc: int = 1,
        artifacts_dir: str | None = None,
        dump_python_ast: bool = False,
        output_names: list[str] | None = None,
    ) -> TracedKernel:
        """The program of a kernel, or of a function, for `inputs`, its arguments by name.

        `target`: inf2, trn1, trn2, trn3 or another name of theirs; `lnc`: cores of a logical core.
        The result is a TracedKernel, not the vendor's module. No files are written, so the
        other arguments have no effect. Raises what the kernel raises.
        """
        traced = kernel if isinstance(kernel, Kernel) else jit(kernel)
        call = (traced if lnc == 1 else traced[lnc]).call(**inputs)
        call.architecture = _core.without_alias(target)
        return call.trace()


class ParserFrontend(NKIFrontend):
    """The vendor's frontend that parses a kernel's source."""


class TracerFrontend(NKIFrontend):
    """The vendor's frontend that runs a kernel's Python."""


__all__ = ["NKIFrontend", "ParserFrontend", "TracerFrontend"]
