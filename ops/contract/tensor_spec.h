#pragma once
// The inputs of a kernel build: shapes, strides and dtypes of its tensors, never their data.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/numerics/dtype.h"
#include "device/program/program.h"

namespace neuron_sim {

/// One tensor argument of an op.
struct TensorSpec {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  ///< elements; empty means dense row-major
  Dtype dtype = Dtype::kFloat32;

  int64_t elements() const;
  bool operator==(const TensorSpec&) const = default;
};

/// "input [2, 3, 8, 8] float32", for messages.
std::string describe(const std::string& name, const TensorSpec& spec);

/// A built op: the program's arguments are the op's tensors in order, then its outputs. A null
/// program means that there is nothing to compute (empty outputs).
struct BuiltOp {
  std::shared_ptr<const Program> program;
  TensorSpec output;
  std::vector<TensorSpec> further_outputs{};  ///< of an op with several outputs
};

}  // namespace neuron_sim
