#pragma once
// One call of a compiled kernel with device tensors: key, cache, launch.

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "csrc/launch/kept_tensor.h"
#include "device/runtime/kernel_cache.h"
#include "device/runtime/launch.h"
#include "ops/contract/fusion_traits.h"
#include "ops/contract/kernel_definition.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// Collects operands and options, which form the cache key, then runs the kernel. A hit builds no
/// specs, formats no text and allocates only the key and the output.
class KernelCall {
 public:
  /// `kernel` is its name in the cache key only. Runs on `device`.
  KernelCall(std::string_view kernel, at::Device device);
  /// A call for `architecture` in place of the device's.
  KernelCall(std::string_view kernel, at::Device device, const Architecture& architecture);

  /// The next argument of the program. Strided tensors are passed unchanged; one whose elements
  /// overlap in memory (other than by strides of 0) is copied first.
  KernelCall& operand(const at::Tensor& tensor);
  /// An argument of other sizes and strides (elements) from the first element of `tensor` on:
  /// broadcast, merged or permuted. Overlaps are kept.
  KernelCall& operand(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides);
  /// The last operand's dimensions from the slowest to the fastest, as the kernel loads them best:
  /// a compiled graph stores a constant operand in this order (ops/graph/constants.h), and other
  /// launches compute with a copy in it (arranged_operands.h). The kernel's results have the same
  /// bytes for any order.
  KernelCall& constant_order(at::IntArrayRef dimensions);
  /// The same for launches alone; a compiled graph takes the operand as it is.
  KernelCall& launch_order(at::IntArrayRef dimensions);
  /// int32 or int64 indices. The chip has no 64-bit integers: it reads the low words, so the caller
  /// checks all 64 bits first (csrc/aten/indexing/index_bounds.h).
  KernelCall& indices(const at::Tensor& tensor);
  /// A tensor that the kernel writes, for launch(); with sizes and strides as above.
  KernelCall& result(const at::Tensor& tensor);
  KernelCall& result(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides);
  /// The memory of a tensor of any dtype as integers of dtype `type`, an operand or a result.
  KernelCall& words(const at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                    at::IntArrayRef strides, bool is_result);
  /// Adds options to the cache key.
  template <typename Options>
  KernelCall& options(const Options& options) {
    add_option(key_, options);
    return *this;
  }

  /// Shapes, strides and dtypes of the operands.
  std::vector<TensorSpec> specs() const;
  const Architecture& architecture() const { return architecture_; }
  const KernelKey& key() const { return key_; }

  /// Launches the kernel for the operands, results and options, on the device's current stream, or
  /// adds it to the graph being captured. Its emit function is a plain one, so that the key has
  /// everything the program depends on. Nothing is launched when no result has elements. Where the
  /// definition has labels, programs and launch records show them.
  template <typename Options>
  void launch(const KernelDefinition<Options>& kernel,
              const std::type_identity_t<Options>& options = {}) {
    labels_ = kernel.labels;
    if constexpr (!std::is_empty_v<Options>) this->options(options);
    const auto make = [&] {
      if (kernel.results != nullptr) kernel.results(specs(), options);
      return with_options(kernel.emit, options);
    };
    launch_emitted(reinterpret_cast<int64_t>(kernel.emit), make, [&] {
      return kernel.traits != nullptr ? kernel.traits(specs(), options) : FusionTraits();
    });
  }
  /// Launches a pointwise kernel, whose operands and result have the same sizes: results =
  /// expression(operands). Calls that differ only in constants share the kernel. In a graph it may
  /// be joined with others. `form`: the expression's, if known.
  void launch(const Expression& expression, const ExpressionForm* form = nullptr);

 private:
  using Sizes = c10::SmallVector<int64_t, 6>;
  /// A tensor argument of the program.
  struct Argument {
    KeptTensor tensor;
    Dtype dtype;
    Sizes sizes, strides;
    Sizes constant_order{};
    bool graphs_keep_order = false;
    TensorSpec spec() const;
  };
  /// Memory of one argument of the program: a tensor, or several that overlap.
  struct Memory {
    std::byte* begin;
    std::byte* end;
    Dtype dtype;
    bool written;
  };
  /// The tensors' memories, and which one each tensor (operands, then results) lies in, and where.
  struct Arrangement {
    c10::SmallVector<Memory, 8> memories;
    c10::SmallVector<size_t, 8> memory;
    c10::SmallVector<int64_t, 8> offset;  ///< elements
    /// Adds the memory of one more tensor; those that overlap one that is written become one.
    void place(const Memory& placed);
    /// Merges two memories of the same dtype, `into` before `other`.
    void join(size_t into, size_t other);
  };
  void add(c10::SmallVector<Argument, 4>& arguments, const at::Tensor& tensor, Dtype dtype,
           at::IntArrayRef sizes, at::IntArrayRef strides);
  /// `function` stands for the emit function in the key; the others are called when needed.
  void launch_emitted(int64_t function, c10::function_ref<EmitKernel()> make,
                      c10::function_ref<FusionTraits()> traits);
  bool writes_nothing() const;
  void run(const std::shared_ptr<const Kernel>& kernel, const Arrangement& arrangement,
           std::span<const double> numbers, const Computation* instead = nullptr) const;
  /// Whether it launched the kernel with a copy of an operand (arranged_operands.h).
  bool launch_arranged(const std::shared_ptr<const Kernel>& kernel, const Arrangement& arrangement,
                       c10::function_ref<EmitKernel()> make);
  void capture(const EmitKernel& emit, FusionTraits traits,
               const std::shared_ptr<const Kernel>& kernel) const;
  void separate_dtypes();
  Arrangement arrange();
  std::shared_ptr<const Program> build(const EmitKernel& emit,
                                       const Arrangement& arrangement) const;

  at::Device device_;
  const Architecture& architecture_;
  KernelKey key_;
  const std::string name_;
  std::string_view labels_;
  c10::SmallVector<Argument, 4> operands_, results_;
};

}  // namespace neuron_sim
