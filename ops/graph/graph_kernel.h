#pragma once
// A kernel of a graph that becomes one program: its operands and results, and how it is emitted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/blocks/hbm_tensor.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// A tensor in one of the memories of a graph. Memories never overlap each other.
struct GraphTensor {
  size_t memory = 0;             ///< number of the memory
  int64_t byte_offset = 0;       ///< of the first element in it
  Dtype dtype{};                 ///< of the elements as the kernel sees them
  std::vector<int64_t> shape;    ///< sizes
  std::vector<int64_t> strides;  ///< elements, not negative
  bool operator==(const GraphTensor&) const = default;

  /// First byte after the last element.
  int64_t end() const;
};

/// Emits a kernel whose result is not stored, but results[i] = result i of `expression` for it
/// (input 0) and `others` (inputs 1, 2, ...); all have its sizes, with any strides.
using EmitFollowed = std::function<void(Builder&, HbmTensors operands, HbmTensors others,
                                        HbmTensors results, const Expression& expression)>;

struct GraphKernel {
  std::string name;
  EmitKernel emit;
  std::vector<GraphTensor> operands, results;
  /// Of a pointwise kernel: results[i] = expression.results()[i](operands), all of one
  /// shape. Such kernels may be joined (fuse_pointwise.h).
  std::optional<Expression> expression{};
  /// Per operand: its dimensions from the slowest to the fastest, as the kernel loads them best;
  /// empty (or no entry): as they are. Constants are stored so (constants.h).
  std::vector<std::vector<int64_t>> constant_orders{};
  /// Of a kernel with one result that can apply expressions to it (follow_products.h).
  EmitFollowed followed{};
};

/// Whether the bytes between first and last element of the two overlap.
bool may_overlap(const GraphTensor& a, const GraphTensor& b);
/// Whether any of the first may overlap any of the second.
bool overlap(const std::vector<GraphTensor>& first, const std::vector<GraphTensor>& second);
/// Whether the order of the two must be kept.
bool depend(const GraphKernel& a, const GraphKernel& b);

}  // namespace neuron_sim
