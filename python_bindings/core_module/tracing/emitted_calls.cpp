#include "python_bindings/core_module/tracing/emitted_calls.h"

#include <algorithm>

#include "python_bindings/core_module/instructions/python_parameter.h"

namespace neuron_sim::tracing {
namespace {

/// Adds what two calls have in common that differ in nothing but tiles.
void mix_view(uint64_t& hash, const View& view) {
  mix(hash, static_cast<uint64_t>(view.offset().constant()));
  mix(hash, static_cast<uint64_t>(view.rank()) << 32 | static_cast<uint64_t>(view.size(0)));
  mix(hash, static_cast<uint64_t>(view.size(view.rank() - 1)));
}

}  // namespace

/// Calls that differ in nothing a hash has are products that begin a sum, and those that continue
/// it.
bool EmittedCalls::Set::repeat(uint64_t hash, Builder& builder, const Call& call,
                               bool on_same_tiles) const {
  return std::any_of(calls.begin(), calls.end(), [&](const Emitted& each) {
    return each.hash == hash && each.repeat(builder, call, on_same_tiles);
  });
}

void EmittedCalls::Set::keep(uint64_t hash, uint32_t number, const Call& call) {
  calls[next].set(hash, number, call);
  next = (next + 1) % kCalls;
}

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

EmittedCalls::Key EmittedCalls::key_of(const Builder& builder, const Call& call) {
  uint64_t hash = kHashFactor, tiles = 0;
  mix(hash, call.instruction);
  mix(hash, call.line);
  TileId newest = newest_;
  for (size_t i = 0; i < call.count; ++i) {
    const View* view = plain_view(call.arguments[i]);
    if (view == nullptr || !view->present()) {
      mix(hash, call.arguments[i]);
      continue;
    }
    mix_view(hash, *view);
    mix(tiles, static_cast<uint64_t>(view->tile()));
    newest = std::max(newest, view->tile());
  }
  mix(tiles, hash);
  const bool is_on_new_tile = newest > newest_;
  newest_ = newest;
  return {tiles, hash, static_cast<uint32_t>(builder.instruction_count()), is_on_new_tile};
}

bool EmittedCalls::repeat(Builder& builder, const Call& call, const Key& key) {
  Set& same = set_of(on_tiles_, key.on_tiles);
  if (!key.is_on_new_tile && same.repeat(key.on_tiles, builder, call, true)) return true;
  if (!set_of(on_any_tiles_, key.on_any_tiles).repeat(key.on_any_tiles, builder, call, false)) {
    return false;
  }
  if (!key.is_on_new_tile) same.keep(key.on_tiles, key.number, call);
  return true;
}

void EmittedCalls::keep(const Call& call, const Key& key) {
  set_of(on_tiles_, key.on_tiles).keep(key.on_tiles, key.number, call);
  set_of(on_any_tiles_, key.on_any_tiles).keep(key.on_any_tiles, key.number, call);
}

}  // namespace neuron_sim::tracing
