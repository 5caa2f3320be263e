#include "python_bindings/core_module/tracing/emitted_calls.h"

#include <algorithm>

#include "device/base/hash.h"
#include "python_bindings/core_module/instructions/python_parameter.h"

namespace neuron_sim::tracing {

void EmittedCalls::Emitted::set(uint64_t of, uint32_t as_number, const Call& call) {
  instruction = nullptr;  // no call matches this one while its arguments change
  for (size_t i = 0; i < std::max(count, call.count); ++i) {
    arguments[i] = i < call.count ? nanobind::borrow(call.arguments[i]) : nanobind::object();
  }
  hash = of;
  instruction = call.instruction;
  number = as_number;
  count = call.count;
}

bool EmittedCalls::Emitted::repeat(Builder& builder, const Call& call, bool on_same_tiles) const {
  if (instruction != call.instruction || count != call.count) return false;
  std::array<Builder::Substitute, kMostOperands + 2> views{};
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    const View* now = plain_view(call.arguments[i]);
    if (now == nullptr) {
      if (arguments[i].ptr() != call.arguments[i]) return false;
      continue;
    }
    const View* before = plain_view(arguments[i].ptr());
    if (before == nullptr || (on_same_tiles && before->tile() != now->tile())) return false;
    views[found++] = {before, now};
  }
  const long long accumulate = instruction->accumulate_at;
  const bool has_mode = accumulate < 0 || !arguments.at(static_cast<size_t>(accumulate)).is_none();
  return builder.repeat(number, {views.data(), found}, has_mode);
}

bool EmittedCalls::emit(Builder& builder, const Call& call) {
  uint64_t hash = kHashFactor;  // of what calls have in common that differ in nothing but tiles
  mix(hash, call.instruction);
  mix(hash, call.line);
  TileId newest = newest_;
  for (size_t i = 0; i < call.count; ++i) {
    const View* view = plain_view(call.arguments[i]);
    if (view == nullptr || !view->present()) {
      mix(hash, call.arguments[i]);
      continue;
    }
    mix(hash, static_cast<uint64_t>(view->offset().constant()));
    mix(hash, static_cast<uint64_t>(view->rank()) << 32 | static_cast<uint64_t>(view->size(0)));
    mix(hash, static_cast<uint64_t>(view->size(view->rank() - 1)));
    newest = std::max(newest, view->tile());
  }
  const bool is_on_new_tile = newest > newest_;
  newest_ = newest;
  Set& set = sets_[index_of(hash, sets_.size())];
  // Products that begin a sum, and those that continue it, do not differ in their hashes.
  const auto repeats = [&](bool on_same_tiles) {
    return std::any_of(set.calls.begin(), set.calls.end(), [&](const Emitted& each) {
      return each.hash == hash && each.repeat(builder, call, on_same_tiles);
    });
  };
  const auto number = static_cast<uint32_t>(builder.instruction_count());
  if (!is_on_new_tile && repeats(true)) return true;
  const bool is_repeated = repeats(false);
  if (!is_repeated && !call.instruction->emit_plain(builder, call.arguments, call.count)) {
    return false;
  }
  if (!is_repeated || !is_on_new_tile) {
    set.calls[set.next].set(hash, number, call);
    set.next = (set.next + 1) % set.calls.size();
  }
  return true;
}

}  // namespace neuron_sim::tracing
