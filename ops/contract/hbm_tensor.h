#pragma once
// A tensor operand of a kernel: sizes and strides over memory in HBM, either an argument of the
// program or a scratch tensor that another of its kernels wrote.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/builder/builder.h"
#include "ops/contract/tensor_spec.h"

namespace neuron_sim {

/// Any number of dimensions, any non-negative strides. Elements lie at
/// offset + sum of index * stride of `storage`.
struct HbmTensor {
  View storage;                  ///< HBM, one dimension
  std::vector<int64_t> shape;    ///< sizes
  std::vector<int64_t> strides;  ///< elements
  int64_t offset = 0;            ///< elements of storage before the first one

  Dtype dtype() const { return storage.dtype(); }
  int64_t elements() const;
  /// The tensor as a View; KernelError for more dimensions than a View has (kMaximumRank).
  /// A tensor without dimensions becomes [1].
  View view() const { return view(shape, strides); }
  /// Other sizes and strides over the same memory, `start` elements after the tensor's first one.
  View view(const std::vector<int64_t>& sizes, const std::vector<int64_t>& steps,
            const Affine& start = 0) const;
};

/// Elements from the first to the last one of a tensor, both included; 0 when it is empty.
int64_t extent_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);
/// Dense row-major strides.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape);

/// Declares a tensor as the next argument of the program.
HbmTensor argument_tensor(Builder& builder, const std::string& label, const TensorSpec& spec);
/// Its shape, strides and dtype.
TensorSpec spec_of(const HbmTensor& tensor);
/// A dense intermediate tensor of the program.
HbmTensor scratch_tensor(Builder& builder, const std::string& label,
                         const std::vector<int64_t>& shape, Dtype dtype);

using HbmTensors = std::span<const HbmTensor>;
/// Tensor `index`, if there are that many.
std::optional<HbmTensor> optional_tensor(HbmTensors tensors, size_t index);

/// Emits one kernel: reads operands, writes all of the results. Called once per program, possibly
/// among other kernels of the same program, and again when the program is built for other tensors.
using EmitKernel = std::function<void(Builder&, HbmTensors operands, HbmTensors results)>;

}  // namespace neuron_sim
