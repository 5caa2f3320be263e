#include "csrc/launch/auto_cast.h"

#include <algorithm>
#include <numeric>

namespace neuron_sim {
namespace {

thread_local AutoCast* active_cast = nullptr;

/// The tensor rounded, in the order of its memory, so that a view of a contiguous tensor is
/// converted like the whole.
at::Tensor converted(const at::Tensor& tensor, at::ScalarType dtype) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.dim())), back(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return tensor.stride(a) > tensor.stride(b); });
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return tensor.permute(order).to(dtype).permute(back);
}

bool same_elements(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

}  // namespace

AutoCast::AutoCast(std::optional<at::ScalarType> dtype) : dtype_(dtype), outer_(active_cast) {
  active_cast = this;
}

AutoCast::~AutoCast() { active_cast = outer_; }

bool AutoCast::rounds(at::ScalarType type) {
  return active_cast != nullptr && active_cast->dtype_ && type == at::kFloat;
}

at::Tensor AutoCast::rounded(const at::Tensor& operand) {
  if (!rounds(operand.scalar_type())) return operand;
  for (const Rounded& known : active_cast->known_) {
    if (same_elements(known.operand, operand)) return known.result;
  }
  active_cast->known_.push_back({operand, converted(operand, *active_cast->dtype_)});
  return active_cast->known_.back().result;
}

}  // namespace neuron_sim
