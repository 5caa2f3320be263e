"""NKI kernels as operators of PyTorch, by the names of the vendor's torch_neuronx.

    @nki_op("mylib::scale", mutates_args={})
    def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
        return scale_kernel(x, factor)

    scale.register_autograd(...)   # torch.library's, or nki_op(..., backward=kernel)

An operator runs on neuron_sim and CPU tensors, has shapes for tensors without data (its kernels are
traced for them), and becomes one node in graphs of torch.compile and torch.export. Importing this
imports torch; neuron_sim.nki does not import it.
"""

from .operators import nki_op, wrap_nki

__all__ = ["nki_op", "wrap_nki"]
