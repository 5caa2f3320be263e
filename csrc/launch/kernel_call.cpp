#include "csrc/launch/kernel_call.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <functional>

#include "csrc/launch/capture.h"
#include "csrc/launch/launch_origin.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/launch/written_memory.h"
#include "csrc/runtime/runtime.h"
#include "device/base/errors.h"
#include "device/runtime/devices.h"
#include "device/runtime/launch.h"
#include "ops/contract/operand_checks.h"
#include "ops/pointwise/launch_constants.h"
#include "ops/pointwise/pointwise.h"

namespace neuron_sim {
namespace {

/// Whether two elements share memory other than by a stride of 0.
bool elements_overlap(const at::Tensor& tensor) {
  if (tensor.is_contiguous() || tensor.is_non_overlapping_and_dense()) return false;
  c10::SmallVector<std::pair<int64_t, int64_t>, 6> dimensions;  // stride, size
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1 && tensor.stride(i) != 0) {
      dimensions.emplace_back(tensor.stride(i), tensor.size(i));
    }
  }
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reach = 0;  // last element of the faster dimensions
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace

KernelCall::KernelCall(std::string_view kernel, at::Device device)
    : KernelCall(kernel, device, device_architecture(device.index())) {}

KernelCall::KernelCall(std::string_view kernel, at::Device device, const Architecture& architecture)
    : device_(device), architecture_(architecture), key_(kernel, architecture), name_(kernel) {}

TensorSpec KernelCall::Argument::spec() const {
  return {{sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}, dtype};
}

void KernelCall::add(c10::SmallVector<Argument, 4>& arguments, const at::Tensor& tensor,
                     Dtype dtype, at::IntArrayRef sizes, at::IntArrayRef strides) {
  key_.add(static_cast<int64_t>(dtype)).add(static_cast<int64_t>(sizes.size()));
  for (const int64_t size : sizes) key_.add(size);
  for (const int64_t stride : strides) key_.add(stride);
  arguments.push_back({kept(tensor), dtype, Sizes(sizes), Sizes(strides)});
}

KernelCall& KernelCall::operand(const at::Tensor& tensor) {
  if (!elements_overlap(tensor)) return operand(tensor, tensor.sizes(), tensor.strides());
  const at::Tensor copy = tensor.contiguous();
  return operand(copy, copy.sizes(), copy.strides());
}

KernelCall& KernelCall::operand(const at::Tensor& tensor, at::IntArrayRef sizes,
                                at::IntArrayRef strides) {
  add(operands_, tensor, dtype_of(tensor.scalar_type()), sizes, strides);
  return *this;
}

KernelCall& KernelCall::constant_order(at::IntArrayRef dimensions) {
  operands_.back().constant_order.assign(dimensions.begin(), dimensions.end());
  return *this;
}

KernelCall& KernelCall::launch_order(at::IntArrayRef dimensions) {
  operands_.back().graphs_keep_order = true;
  return constant_order(dimensions);
}

KernelCall& KernelCall::indices(const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kLong) return operand(tensor);
  Sizes strides(tensor.strides());
  for (int64_t& stride : strides) stride *= 2;
  add(operands_, tensor, Dtype::kInt32, tensor.sizes(), strides);
  return *this;
}

KernelCall& KernelCall::result(const at::Tensor& tensor) {
  return result(tensor, tensor.sizes(), tensor.strides());
}

KernelCall& KernelCall::result(const at::Tensor& tensor, at::IntArrayRef sizes,
                               at::IntArrayRef strides) {
  add(results_, tensor, dtype_of(tensor.scalar_type()), sizes, strides);
  return *this;
}

KernelCall& KernelCall::words(const at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                              at::IntArrayRef strides, bool is_result) {
  add(is_result ? results_ : operands_, tensor, dtype_of(type), sizes, strides);
  return *this;
}

std::vector<TensorSpec> KernelCall::specs() const {
  std::vector<TensorSpec> specs;
  for (const Argument& operand : operands_) specs.push_back(operand.spec());
  return specs;
}

/// Results that overlap operands of another dtype in memory: those operands are copied first.
void KernelCall::separate_dtypes() {
  for (Argument& operand : operands_) {
    for (const Argument& result : results_) {
      if (operand.dtype == result.dtype || !operand.tensor->is_alias_of(*result.tensor)) continue;
      TORCH_CHECK(operand.tensor->sizes() == at::IntArrayRef(operand.sizes),
                  "neuron_sim: an operand shares memory with a result of another dtype");
      operand.tensor = KeptTensor::owned(operand.tensor->clone(at::MemoryFormat::Preserve));
      operand.strides = Sizes(operand.tensor->strides());
      break;
    }
  }
}

void KernelCall::Arrangement::place(const Memory& placed) {
  memory.push_back(memories.size());
  memories.push_back(placed);
  // A growing memory may overlap others, which then join it too.
  for (size_t changed = memories.size() - 1;;) {
    const Memory& grown = memories[changed];
    const auto joins = [&](const Memory& other) {
      const bool overlap = other.begin < grown.end && grown.begin < other.end;
      return &other != &grown && overlap && (other.written || grown.written);
    };
    const auto found = std::find_if(memories.begin(), memories.end(), joins);
    if (found == memories.end()) return;
    const auto other = static_cast<size_t>(found - memories.begin());
    join(std::min(other, changed), std::max(other, changed));
    changed = std::min(other, changed);
  }
}

void KernelCall::Arrangement::join(size_t into, size_t other) {
  const Memory joined = memories[other];
  Memory& grown = memories[into];
  grown = {std::min(grown.begin, joined.begin), std::max(grown.end, joined.end), grown.dtype, true};
  memories.erase(memories.begin() + other);
  for (size_t& number : memory) {
    if (number == other) {
      number = into;
    } else if (number > other) {
      --number;
    }
  }
}

/// A program derives dependencies only from its arguments, so tensors that overlap one that
/// is written lie in the same argument. The key is complete after that.
KernelCall::Arrangement KernelCall::arrange() {
  separate_dtypes();
  Arrangement arrangement;
  c10::SmallVector<std::byte*, 8> begins;  // of the results, then of the operands
  const auto place = [&](const Argument& argument, bool written) {
    if (written) materialize(*argument.tensor);  // results are placed before operands are looked up
    std::byte* const begin = begins.emplace_back(backing(*argument.tensor));
    const auto item = static_cast<size_t>(itemsize(argument.dtype));
    const size_t bytes = at::detail::computeStorageNbytes(argument.sizes, argument.strides, item);
    arrangement.place({begin, begin + std::max(bytes, item), argument.dtype, written});
  };
  for (const Argument& result : results_) place(result, true);
  for (const Argument& operand : operands_) place(operand, false);
  const auto operands_first = [&](auto& of_arguments) {
    std::rotate(of_arguments.begin(), of_arguments.begin() + results_.size(), of_arguments.end());
  };
  operands_first(arrangement.memory);
  operands_first(begins);
  for (size_t i = 0; i < begins.size(); ++i) {
    const Memory& memory = arrangement.memories[arrangement.memory[i]];
    const Dtype dtype =
        (i < operands_.size() ? operands_[i] : results_[i - operands_.size()]).dtype;
    arrangement.offset.push_back((begins[i] - memory.begin) / itemsize(dtype));
    key_.add(static_cast<int64_t>(arrangement.memory[i])).add(arrangement.offset[i]);
  }
  key_.add(static_cast<int64_t>(operands_.size())).add(static_cast<int64_t>(results_.size()));
  return arrangement;
}

std::shared_ptr<const Program> KernelCall::build(const EmitKernel& emit,
                                                 const Arrangement& arrangement) const {
  Builder builder(name_, architecture_);
  const size_t count = operands_.size() + results_.size();
  std::vector<TensorSpec> specs = this->specs();
  for (const Argument& result : results_) specs.push_back(result.spec());
  std::vector<HbmTensor> tensors(count);
  if (!labels_.empty() && arrangement.memories.size() == count) {
    const std::vector<std::string> labels = labels_of(labels_, count);
    std::vector<size_t> tensor_in(count);
    for (size_t i = 0; i < count; ++i) tensor_in[arrangement.memory[i]] = i;
    for (const size_t i : tensor_in) tensors[i] = declared_argument(builder, labels[i], specs[i]);
  } else {
    std::vector<View> memories;
    for (const Memory& memory : arrangement.memories) {
      const int64_t elements = (memory.end - memory.begin) / itemsize(memory.dtype);
      memories.push_back(
          builder.argument(text("tensor", memories.size()), {elements}, memory.dtype));
    }
    for (size_t i = 0; i < count; ++i) {
      tensors[i] = {memories[arrangement.memory[i]], specs[i].shape, strides_of(specs[i]),
                    arrangement.offset[i]};
    }
  }
  const HbmTensors all(tensors);
  emit(builder, all.first(operands_.size()), all.subspan(operands_.size()));
  return builder.finish();
}

namespace {

EmitKernel emit_of(const Expression& expression) {
  return with_options<Expression>(emit_pointwise, expression);
}

}  // namespace

void KernelCall::launch_emitted(int64_t function, c10::function_ref<EmitKernel()> make,
                                c10::function_ref<FusionTraits()> traits) {
  if (writes_nothing()) return;
  const Arrangement arrangement = arrange();
  key_.add(function);
  const auto build_now = [&] { return build(make(), arrangement); };
  // By reference: a std::function of the lambda itself would allocate.
  const auto kernel = kernel_cache().find_or_build(key_, std::cref(build_now));
  if (GraphCapture::active() != nullptr) return capture(make(), traits(), kernel);
  if (!launch_arranged(kernel, arrangement, make)) run(kernel, arrangement, {});
}

void KernelCall::launch(const Expression& expression, const ExpressionForm* form) {
  if (writes_nothing()) return;
  std::optional<ExpressionForm> own;
  if (form == nullptr) form = &own.emplace(expression.form());
  key_.add(form->structure);
  const Arrangement arrangement = arrange();
  const auto compile_now = [&] {
    return compile_expression(
        expression, [&](const Expression& marked) { return build(emit_of(marked), arrangement); });
  };
  const auto kernel = kernel_cache().find_or_compile(key_, std::cref(compile_now));
  if (GraphCapture::active() != nullptr) {
    FusionTraits traits;
    traits.set(expression);
    return capture(emit_of(expression), std::move(traits), kernel);
  }
  run(kernel, arrangement, form->constants);
}

void KernelCall::capture(const EmitKernel& emit, FusionTraits traits,
                         const std::shared_ptr<const Kernel>& kernel) const {
  GraphCapture& capture = *GraphCapture::active();
  const auto graph_tensor = [&](const Argument& argument) {
    return capture.graph_tensor(*argument.tensor, argument.dtype, argument.sizes, argument.strides);
  };
  GraphKernel use{name_, emit, {}, {}, std::move(traits)};
  use.traits.operands.resize(operands_.size());
  for (size_t i = 0; i < operands_.size(); ++i) {
    use.operands.push_back(graph_tensor(operands_[i]));
    const Sizes& order = operands_[i].constant_order;
    if (order.empty() || operands_[i].graphs_keep_order) continue;
    use.traits.operands[i].constant_order.assign(order.begin(), order.end());
  }
  for (const Argument& result : results_) use.results.push_back(graph_tensor(result));
  capture.add(std::move(use), *kernel);
  for (const Argument& result : results_) WrittenMemory::note(*result.tensor);
}

bool KernelCall::writes_nothing() const {
  return std::all_of(results_.begin(), results_.end(),
                     [](const Argument& result) { return result.tensor->numel() == 0; });
}

void KernelCall::run(const std::shared_ptr<const Kernel>& kernel, const Arrangement& arrangement,
                     std::span<const double> numbers, const Computation* instead) const {
  c10::SmallVector<std::byte*, 8> addresses;
  for (const Memory& memory : arrangement.memories) addresses.push_back(memory.begin);
  std::optional<LaunchResults> written;
  if (follows_operators()) {
    c10::SmallVector<at::Tensor, 4> tensors;
    for (const Argument& result : results_) tensors.push_back(*result.tensor);
    written.emplace(tensors);
  }
  neuron_sim::launch(device_.index(), current_stream(device_.index()), kernel,
                     {addresses.data(), addresses.size()}, numbers, instead);
  for (const Argument& result : results_) WrittenMemory::note(*result.tensor);
}

}  // namespace neuron_sim
