#pragma once
// The vendor's "--auto-cast matmult": operands of products of fp32 tensors are rounded to a
// narrower dtype, sums and results stay fp32.

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace neuron_sim {

/// While it exists, products, convolutions and attention of fp32 tensors on this thread multiply in
/// `dtype` (none: in fp32). For the operators of a graph, which never write a value twice.
class AutoCast {
 public:
  explicit AutoCast(std::optional<at::ScalarType> dtype);
  AutoCast(const AutoCast&) = delete;
  ~AutoCast();

  /// Whether products of tensors of `type` are rounded on this thread.
  static bool rounds(at::ScalarType type);
  /// `operand` of a product as it multiplies: rounded, once for all products that read it, or
  /// itself where nothing is to be rounded. Sizes stay; strides may change.
  static at::Tensor rounded(const at::Tensor& operand);

 private:
  struct Rounded {
    at::Tensor operand, result;
  };
  const std::optional<at::ScalarType> dtype_;
  std::vector<Rounded> known_;
  AutoCast* const outer_;
};

}  // namespace neuron_sim
