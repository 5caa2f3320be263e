#include "csrc/launch/written_memory.h"

#include <c10/util/SmallVector.h>

#include <algorithm>

#include "csrc/launch/captured_tensor.h"

namespace neuron_sim {
namespace {

/// Written by the operators that this thread runs, outermost first.
thread_local c10::SmallVector<const c10::StorageImpl*, 16> written;
thread_local int operators = 0;

c10::SmallVector<const c10::StorageImpl*, 4> memories_of(c10::IValue value) {
  c10::SmallVector<const c10::StorageImpl*, 4> memories;
  for_each_tensor(value, [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage()) {
      memories.push_back(tensor.storage().unsafeGetStorageImpl());
    }
  });
  return memories;
}

}  // namespace

WrittenMemory::WrittenMemory() : first_(written.size()) { ++operators; }

WrittenMemory::~WrittenMemory() {
  if (--operators == 0) written.clear();
}

int WrittenMemory::depth() { return operators; }

void WrittenMemory::note(const at::Tensor& tensor) {
  if (operators > 0) written.push_back(tensor.storage().unsafeGetStorageImpl());
}

void WrittenMemory::check_unchanged(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                                    const std::string& reason) const {
  const auto* const begin = written.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto* const end = written.end();
  if (begin == end) return;
  const auto& arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_out()) continue;  // the CPU writes all of it
    for (const c10::StorageImpl* const memory : memories_of(stack[first + i])) {
      TORCH_CHECK(std::find(begin, end, memory) == end, "neuron_sim: operator '",
                  op.operator_name(), "' wrote its argument '", arguments[i].name(),
                  "' before it was refused, so that it cannot run on the CPU: ", reason);
    }
  }
}

}  // namespace neuron_sim
