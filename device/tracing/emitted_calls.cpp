#include "device/tracing/emitted_calls.h"

#include <algorithm>

#include "device/base/hash.h"

namespace neuron_sim::tracing {

void EmittedCalls::Emitted::remember(uint64_t of, uint32_t as_number, const Call& call) {
  std::ranges::copy(call.arguments, arguments.begin());
  hash = of;
  instruction = call.instruction;
  number = as_number;
  count = call.arguments.size();
}

bool EmittedCalls::Emitted::repeat(Builder& builder, const Call& call, bool on_same_tiles) const {
  if (instruction != call.instruction || count != call.arguments.size()) return false;
  std::array<Builder::Substitute, kMostArguments> views{};
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    const View *before = arguments[i].view, *now = call.arguments[i].view;
    if (now == nullptr) {
      if (arguments[i].object != call.arguments[i].object) return false;
      continue;
    }
    if (before == nullptr || (on_same_tiles && before->tile() != now->tile())) return false;
    views[found++] = {before, now};
  }
  return builder.repeat(number, {views.data(), found}, call.has_mode);
}

EmittedCalls::Candidate EmittedCalls::candidate(const Call& call) {
  uint64_t hash = kHashFactor;  // of what calls have in common that differ in nothing but tiles
  mix(hash, call.instruction);
  mix(hash, call.line);
  TileId newest = newest_;
  for (const Argument& argument : call.arguments) {
    const View* view = argument.view;
    if (view == nullptr || !view->present()) {
      mix(hash, argument.object);
      continue;
    }
    mix(hash, static_cast<uint64_t>(view->offset().constant()));
    mix(hash, static_cast<uint64_t>(view->rank()) << 32 | static_cast<uint64_t>(view->size(0)));
    mix(hash, static_cast<uint64_t>(view->size(view->rank() - 1)));
    newest = std::max(newest, view->tile());
  }
  const bool is_on_new_tile = newest > newest_;
  newest_ = newest;
  return {hash, index_of(hash, kSets), is_on_new_tile};
}

bool EmittedCalls::repeats(Builder& builder, const Call& call, const Candidate& now,
                           bool on_same_tiles) const {
  // Products that begin a sum, and those that continue it, do not differ in their hashes.
  return std::ranges::any_of(sets_[now.set].calls, [&](const Emitted& each) {
    return each.hash == now.hash && each.repeat(builder, call, on_same_tiles);
  });
}

}  // namespace neuron_sim::tracing
