// Builder::core: what belongs to one core of a logical core.

#include <algorithm>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/program/engine_state_tile.h"

namespace neuron_sim {

Builder::Core::Core(const Architecture& architecture)
    : sbuf(MemoryKind::kSbuf, architecture), psum(MemoryKind::kPsum, architecture) {}

void Builder::add_core() {
  const auto index = static_cast<uint8_t>(cores_.size());
  cores_.push_back(std::make_unique<Core>(architecture_));
  cores_.back()->first_state = static_cast<TileId>(program_->tiles.size());
  for (int i = 0; i < kEngineStateCount; ++i) {
    program_->tiles.push_back(engine_state_tile(static_cast<EngineState>(i), architecture_));
    program_->tiles.back().core = index;
  }
  program_->cores.emplace_back();
}

void Builder::open_core(int index) {
  const std::string where = text("kernel '", program_->kernel, "': core(", index, ")");
  const int64_t limit = std::min<int64_t>(limits().logical_cores, kMaximumCores);
  if (index < 0 || index >= limit) {
    fail(text(where, " does not exist; a logical core of architecture ", architecture_.name,
              " has ", limit, limit == 1 ? " core." : " cores."),
         ErrorKind::kIndex);
  }
  if (!open_loops_.empty()) {
    fail(text(where, " is inside a loop; loops belong to one core, open them inside of core()."));
  }
  if (in_core_) fail(text(where, " is inside core(", core_, ")."));
  while (static_cast<int>(cores_.size()) <= index) add_core();
  core_ = index;
  in_core_ = true;
  push_frame(Frame::Kind::kCore, 1, false);
}

void Builder::close_core() { close(Frame::Kind::kCore); }

void Builder::core(int index, const std::function<void()>& body) {
  open_core(index);
  run_body(Frame::Kind::kCore, body);
}

Block& Builder::block() {
  return open_loops_.empty() ? program_->cores[static_cast<size_t>(core_)]
                             : program_->loops[open_loops_.back().loop].body;
}

TileId Builder::tile_of(const View& view) const {
  const bool state =
      view.memory() == MemoryKind::kAccumulator || view.memory() == MemoryKind::kRandomState;
  return state ? here().first_state + view.tile() : view.tile();
}

void Builder::check_core(const Draft& draft, int index) const {
  const View& view = draft.operand(index);
  const Tile& tile = program_->tiles[static_cast<size_t>(tile_of(view))];
  if (view.memory() == MemoryKind::kHbm || tile.core == core_) return;
  fail(text("operand '", draft.type->operands[static_cast<size_t>(index)].name, "' of '",
            draft.type->name, "' is tile '", tile.label, "' in the ", name(view.memory()),
            " of core ", int{tile.core}, "; core ", core_,
            " reaches its own only. 'sendrecv' moves tiles between cores."));
}

}  // namespace neuron_sim
