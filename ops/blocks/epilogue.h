#pragma once
// Pointwise work that is done while a tile leaves PSUM: function(tile + bias), rounded once.

#include <string_view>

#include "device/builder/builder.h"
#include "device/numerics/activation_functions.h"

namespace neuron_sim {

/// The work after a matrix product. At most one of the two biases is present.
struct Epilogue {
  Activation activation = Activation::kIdentity;
  /// SBUF [partitions, blocks] (any float dtype): the bias of output row r, in a product whose rows
  /// lie on partitions, is at partition r % partitions, column r / partitions. See
  /// load_partition_bias. One Scalar instruction adds it, applies the function and casts.
  View partition_bias;
  /// SBUF [partitions, columns]: one bias per output column, the same in every partition. See
  /// load_column_bias. Costs a separate Vector instruction.
  View column_bias;
  /// Engine of the plain copy when there is neither bias nor function: Vector or Scalar.
  EngineKind copy_engine = EngineKind::kVector;
};

/// dst = activation(psum + bias). `psum` is [P, F...] fp32 in PSUM, `dst` has P partitions and as
/// many elements, in SBUF, of any float dtype. `row_block` is the block of output rows that lies on
/// the partitions (column of partition_bias), `column` the first output column (of column_bias;
/// then psum and dst are [P, F]). With a column bias and a function, psum is overwritten.
void evacuate(Builder& builder, const View& psum, const View& dst, const Epilogue& epilogue,
              const Affine& row_block = 0, const Affine& column = 0);

/// Loads the HBM vector `bias` [C] into a new SBUF tile [partitions, ceil(C / partitions)].
View load_partition_bias(Builder& builder, const View& bias);
/// Loads the HBM vector `bias` [C] into every partition of a new SBUF tile [partitions, C].
View load_column_bias(Builder& builder, const View& bias);

/// An activation by name: a function of the Scalar engine, or softmax over the last dimension.
struct OutputFunction {
  Activation pointwise = Activation::kIdentity;
  bool softmax = false;
};
/// "identity", "relu", "exp", "gelu", "sigmoid", "tanh", "square", "sqrt", "rsqrt" or "softmax";
/// KernelError with all names otherwise.
OutputFunction parse_output_function(std::string_view op, std::string_view name);
/// The function that `option` of `op` names, not softmax, which needs a whole row; KernelError
/// otherwise.
Activation parse_pointwise_function(std::string_view op, std::string_view option,
                                    std::string_view name);
inline void parse_option(std::string_view op, std::string_view option, std::string_view name,
                         Activation& value) {
  value = parse_pointwise_function(op, option, name);
}

}  // namespace neuron_sim
