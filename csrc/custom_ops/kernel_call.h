#pragma once
// One call of a compiled kernel with device tensors: key, cache, launch.

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <string_view>

#include "device/runtime/kernel_cache.h"
#include "ops/tensor_spec.h"

namespace neuron_sim {

/// Collects operands and options, which make the key of the compiled kernel, then runs it. A hit
/// builds no specs, formats no text and allocates only the key and the output.
class KernelCall {
 public:
  using Build = c10::function_ref<BuiltOp()>;

  /// `kernel` names what is built, in the key only. Runs on `device`.
  KernelCall(std::string_view kernel, at::Device device);
  /// The same for a given architecture; the first one takes the device's.
  KernelCall(std::string_view kernel, at::Device device, const Architecture& architecture);

  /// The next argument of the program. Strided tensors are passed as they are; one whose elements
  /// overlap in memory (other than by strides of 0) is copied first.
  KernelCall& operand(const at::Tensor& tensor);
  /// Something else that decides the program.
  KernelCall& option(int64_t value);
  KernelCall& option(std::string_view value);

  /// Shape, strides and dtype of operand `index`.
  TensorSpec spec(size_t index) const;
  /// Specs of `count` operands from `first`.
  std::vector<TensorSpec> specs(size_t first, size_t count) const;
  const Architecture& architecture() const { return architecture_; }
  const KernelKey& key() const { return key_; }

  /// Allocates the output (dense, on the device) and launches on the device's current stream.
  /// `build` is called when the cache has no such kernel. An empty output is returned without a
  /// launch. KernelError as `build` and launch() raise it.
  at::Tensor run(c10::SymIntArrayRef sizes, at::ScalarType dtype, Build build) const;
  /// The same for a program with several outputs, which the caller allocates (dense, on the
  /// device). Launches nothing when all of them are empty.
  void run_into(at::ArrayRef<at::Tensor> outputs, Build build) const;

 private:
  at::Device device_;
  const Architecture& architecture_;
  KernelKey key_;
  c10::SmallVector<at::Tensor, 4> operands_;
};

}  // namespace neuron_sim
