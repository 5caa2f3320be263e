// Names, arguments and results of the custom ops: torch.ops.neuron_sim.*.

#include <torch/library.h>

namespace neuron_sim {

// pt2_compliant_tag: torch.compile and torch.export may trace the ops, which have meta kernels.
TORCH_LIBRARY(neuron_sim, m) {
  const std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag};
  m.def(
      "vector_add(Tensor a, Tensor b, *, str variant='stream', int row_chunk=128, int free_dim=0,"
      " int num_free_tiles=4, int[] base_addresses=[]) -> Tensor",
      tags);
  m.def("matmul(Tensor a, Tensor b, *, str variant='auto', bool transpose_x=False) -> Tensor",
        tags);
  m.def("transpose(Tensor a, *, str engine='auto') -> Tensor", tags);
  m.def("bias_add_activation(Tensor x, Tensor bias, str activation) -> Tensor", tags);
  m.def(
      "conv2d_maxpool(Tensor input, Tensor weight, Tensor bias, int[2] pool_size, *,"
      " int[2] stride=1, int[2] padding=0, str activation='identity', int[2] dilation=1,"
      " int groups=1, int[2]? pool_stride=None) -> Tensor",
      tags);
  m.def(
      "ffnn_forward(Tensor x, Tensor[] weights, Tensor[] biases, *,"
      " str hidden_activation='relu', str output_activation='softmax') -> Tensor",
      tags);
  m.def(
      "ffnn_predict(Tensor x, Tensor[] weights, Tensor[] biases, *,"
      " str hidden_activation='relu', str output_activation='softmax') -> Tensor",
      tags);
  m.def(
      "bias_add_activation_backward(Tensor gradient, Tensor x, Tensor bias, str activation)"
      " -> (Tensor, Tensor)",
      tags);
  m.def(
      "conv2d_maxpool_backward(Tensor gradient, Tensor input, Tensor weight, Tensor bias,"
      " int[2] pool_size, *, int[2] stride=1, int[2] padding=0, str activation='identity',"
      " int[2] dilation=1, int groups=1, int[2]? pool_stride=None,"
      " bool[3] output_mask=[True, True, True]) -> (Tensor, Tensor, Tensor)",
      tags);
}

}  // namespace neuron_sim
