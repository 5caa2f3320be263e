"""Builder instructions that emit a result: see `TraceState.result`.

Their operands are those of the builder's method in its order, tensors in place of their Views.
"""

from neuron_sim import _core

ACTIVATION = _core.Instruction(_core.Builder.activation)
DMA_COPY = _core.DMA_COPY
MATMUL = _core.MATMUL
MEMSET = _core.Instruction(_core.Builder.memset)
RECIPROCAL = _core.Instruction(_core.Builder.reciprocal)
SCALAR_TENSOR_TENSOR = _core.Instruction(_core.Builder.scalar_tensor_tensor)
TENSOR_COPY = _core.Instruction(_core.Builder.tensor_copy)
TENSOR_REDUCE = _core.TENSOR_REDUCE
TENSOR_SCALAR = _core.TENSOR_SCALAR
TENSOR_TENSOR = _core.TENSOR_TENSOR
