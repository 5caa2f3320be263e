#include "csrc/launch/arranged_operands.h"

#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "csrc/launch/kernel_call.h"
#include "device/base/errors.h"
#include "device/instruction/element_copy.h"
#include "device/memory/write_watch.h"
#include "device/runtime/checking.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

constexpr int64_t kSmallest = int64_t{64} << 10;
constexpr int64_t kMostBytes = int64_t{256} << 20;
constexpr size_t kMostOperands = 4096;

using Strides = c10::SmallVector<int64_t, 6>;

/// Those without gaps in the order.
Strides arranged_strides(const OperandElements& operand) {
  Strides strides(operand.sizes.size());
  int64_t step = 1;
  for (size_t i = operand.order.size(); i-- > 0;) {
    const auto dimension = static_cast<size_t>(operand.order[i]);
    strides[dimension] = step;
    step *= operand.sizes[dimension];
  }
  return strides;
}

/// Whether no two elements share a place, and not yet the arranged one.
bool is_worth_it(const OperandElements& operand, const Strides& arranged) {
  bool differs = false;
  int64_t bytes = operand.itemsize;
  for (size_t i = 0; i < operand.sizes.size(); ++i) {
    if (operand.sizes[i] == 1) continue;
    if (operand.strides[i] == 0) return false;
    differs = differs || operand.strides[i] != arranged[i];
    bytes *= operand.sizes[i];
  }
  return differs && bytes >= kSmallest &&
         operand.sizes.size() <= static_cast<size_t>(kMaximumCopyRank);
}

void copy(const OperandElements& operand, const Strides& arranged, std::byte* target) {
  std::array<Dimension, kMaximumCopyRank> from{}, to{};
  const size_t rank = operand.order.size();
  for (size_t i = 0; i < rank; ++i) {
    const auto dimension = static_cast<size_t>(operand.order[i]);
    const int64_t size = operand.sizes[dimension];
    from[i] = {size, operand.strides[dimension] * operand.itemsize};
    to[i] = {size, arranged[dimension] * operand.itemsize};
  }
  copy_elements({operand.begin, {from.data(), rank}}, {target, {to.data(), rank}},
                operand.itemsize);
}

HostBytes bytes_of(const OperandElements& operand) {
  int64_t last = 0;
  for (size_t i = 0; i < operand.sizes.size(); ++i) {
    last += (operand.sizes[i] - 1) * operand.strides[i];
  }
  return {operand.begin, operand.begin + (last + 1) * operand.itemsize};
}

/// An operand that a launch found, and its copy once another one found it unchanged.
struct Known {
  Known(const std::shared_ptr<const Kernel>& reader, const OperandElements& operand)
      : kernel(reader),
        storage(operand.tensor.storage().getWeakStorageImpl()),
        watch(bytes_of(operand)) {
    watch.take_written();  // from now on
  }
  bool lives() const { return !kernel.expired() && !storage.expired(); }

  std::weak_ptr<const Kernel> kernel;
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  WriteWatch watch;
  ArrangedOperand arranged{};
  int64_t bytes = 0;  ///< of the copy
  bool refused = false;
};

class ArrangedOperands {
 public:
  std::optional<ArrangedOperand> find(const std::shared_ptr<const Kernel>& kernel,
                                      const OperandElements& operand, const Strides& strides,
                                      BuildArranged build) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find({kernel.get(), operand.begin});
    if (found == known_.end() || !is(found->second, kernel, operand)) {
      drop_dead();
      if (known_.size() >= kMostOperands) return std::nullopt;
      known_.emplace(Key{kernel.get(), operand.begin}, std::make_unique<Known>(kernel, operand));
      return std::nullopt;
    }
    Known& known = *found->second;
    if (known.watch.take_written()) {
      drop_copy(known);
    } else if (known.arranged.elements == nullptr && !known.refused) {
      arrange(known, kernel, operand, strides, build);
    }
    if (known.arranged.elements == nullptr) return std::nullopt;
    return known.arranged;
  }

 private:
  using Key = std::pair<const Kernel*, const std::byte*>;

  static bool is(const std::unique_ptr<Known>& known, const std::shared_ptr<const Kernel>& kernel,
                 const OperandElements& operand) {
    return known->kernel.lock() == kernel &&
           known->storage.lock().get() == operand.tensor.storage().unsafeGetStorageImpl();
  }

  void drop_copy(Known& known) {
    bytes_ -= std::exchange(known.bytes, 0);
    known.arranged.elements = nullptr;
  }

  void drop_dead() {
    std::erase_if(known_, [&](const auto& each) {
      if (each.second->lives()) return false;
      drop_copy(*each.second);
      return true;
    });
  }

  void arrange(Known& known, const std::shared_ptr<const Kernel>& kernel,
               const OperandElements& operand, const Strides& strides, BuildArranged build) {
    int64_t bytes = operand.itemsize;
    for (const int64_t size : operand.sizes) bytes *= size;
    if (bytes_ + bytes > kMostBytes) drop_dead();
    if (bytes_ + bytes > kMostBytes) return;
    if (known.arranged.kernel == nullptr) known.arranged.kernel = kernel_for(kernel.get());
    if (known.arranged.kernel == nullptr) {
      try {
        known.arranged.kernel = std::make_shared<const Kernel>(build(strides, bytes));
      } catch (const KernelError&) {  // takes the operand as it is alone
        known.refused = true;
        return;
      }
    }
    const auto elements = std::make_shared<ScratchMemory>(bytes);
    copy(operand, strides, elements->data());
    known.arranged.elements = elements;
    known.bytes = bytes;
    bytes_ += bytes;
  }

  /// That of another tensor, as every layer of a network of equal layers has one.
  std::shared_ptr<const Kernel> kernel_for(const Kernel* kernel) const {
    for (auto each = known_.lower_bound({kernel, nullptr});
         each != known_.end() && each->first.first == kernel; ++each) {
      if (each->second->arranged.kernel != nullptr) return each->second->arranged.kernel;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Known>> known_;
  int64_t bytes_ = 0;  // of all copies
};

}  // namespace

std::optional<ArrangedOperand> arranged_operand(const std::shared_ptr<const Kernel>& kernel,
                                                const OperandElements& operand,
                                                BuildArranged build) {
  static auto* operands = new ArrangedOperands;  // outlives tensors of static storage duration
  const Strides strides = arranged_strides(operand);
  if (!is_worth_it(operand, strides)) return std::nullopt;
  return operands->find(kernel, operand, strides, build);
}

bool KernelCall::launch_arranged(const std::shared_ptr<const Kernel>& kernel,
                                 const Arrangement& arrangement,
                                 c10::function_ref<EmitKernel()> make) {
  const auto ordered = std::find_if(operands_.begin(), operands_.end(), [](const Argument& each) {
    return !each.constant_order.empty();
  });
  if (ordered == operands_.end() || timing_only() || checking()) return false;
  const size_t memory = arrangement.memory[static_cast<size_t>(ordered - operands_.begin())];
  const Memory& bytes = arrangement.memories[memory];
  const auto users = std::count(arrangement.memory.begin(), arrangement.memory.end(), memory);
  if (users > 1 || bytes.written) return false;
  const auto build_arranged = [&](at::IntArrayRef strides, int64_t size) {
    Arrangement arranged = arrangement;
    arranged.memories[memory].end = arranged.memories[memory].begin + size;
    const Sizes own = std::exchange(ordered->strides, Sizes(strides));
    auto program = build(make(), arranged);
    ordered->strides = own;
    return program;
  };
  const std::optional<ArrangedOperand> arranged =
      arranged_operand(kernel,
                       {*ordered->tensor, bytes.begin, ordered->sizes, ordered->strides,
                        itemsize(ordered->dtype), ordered->constant_order},
                       build_arranged);
  if (!arranged) return false;
  c10::SmallVector<std::byte*, 8> addresses;
  for (const Memory& each : arrangement.memories) addresses.push_back(each.begin);
  addresses[memory] = arranged->elements->data();
  const Computation instead{arranged->kernel, {addresses.data(), addresses.size()}};
  run(kernel, arrangement, {}, &instead);
  return true;
}

}  // namespace neuron_sim
