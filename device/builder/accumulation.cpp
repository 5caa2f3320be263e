#include "device/builder/accumulation.h"

#include <algorithm>
#include <iterator>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Bytes of a view with all loop variables at 0.
Region region(const View& view) {
  Region result;
  const int64_t bytes = itemsize(view.dtype());
  if (view.rank() == 2 && view.dimension(1).stride == bytes && view.size(1) > 0) {  // most sums
    result.low = view.offset().constant();
    result.run = view.size(1) * bytes;
  } else {
    std::vector<Repetition> repetitions;
    repetitions.reserve(kMaximumRank);
    for (int i = 1; i < view.rank(); ++i) {
      repetitions.push_back({view.dimension(i).stride, view.size(i)});
    }
    result = region_of(view.offset().constant(), bytes, std::move(repetitions));
  }
  result.partition = static_cast<int32_t>(view.partition().constant());
  result.partitions = static_cast<int32_t>(view.partitions());
  return result;
}

/// Whether the address depends on the variable of that loop.
bool follows(const View& view, size_t loop) {
  const int level = static_cast<int>(loop);
  return view.offset().coefficient(level) != 0 || view.partition().coefficient(level) != 0 ||
         (view.ring() > 1 && view.ring_index().coefficient(level) != 0);
}

/// Whether an index of the same ring names the same tile (for loop variables at 0).
bool same_turn(const Affine& index, const View& dst) {
  return (index.constant() - dst.ring_index().constant()) % dst.ring() == 0;
}

}  // namespace

int AccumulationGroups::attribute_of(const InstructionType& type) {
  for (size_t i = 0; i < type.attributes.size(); ++i) {
    if (type.attributes[i].kind == AttributeKind::kAccumulate) return static_cast<int>(i);
  }
  return -1;
}

size_t AccumulationGroups::destination_of(const InstructionType& type, int attribute) {
  for (size_t i = 0; i < type.operands.size(); ++i) {
    if (type.operands[i].read_if_attribute == attribute) return i;
  }
  require(false, "an instruction that accumulates has an operand to accumulate into");
  return 0;
}

/// Whether the address varies with the same loops in the same steps as the earlier product's, so
/// that the constant parts decide whether they overlap.
bool AccumulationGroups::moves_alike(const Written& before, const View& dst,
                                     const std::vector<uint32_t>& loops) {
  for (int level = 0; level < kMaximumLoopDepth; ++level) {
    const int64_t step = before.offset.coefficient(level);
    const int64_t partitions = before.partition.coefficient(level);
    const int64_t turns = before.ring_index.coefficient(level);
    if (step != dst.offset().coefficient(level) ||
        partitions != dst.partition().coefficient(level) ||
        turns != dst.ring_index().coefficient(level)) {
      return false;
    }
    const auto index = static_cast<size_t>(level);
    const bool follows = step != 0 || partitions != 0 || turns != 0;
    if (follows && (index >= loops.size() || loops[index] != before.loops[index])) return false;
  }
  return true;
}

/// The tile that was allocated last is asked for most.
std::map<TileId, AccumulationGroups::PsumTile>::const_iterator AccumulationGroups::find(
    TileId tile) const {
  const bool is_last = !tiles_.empty() && tiles_.rbegin()->first == tile;
  return is_last ? std::prev(tiles_.end()) : tiles_.find(tile);
}

AccumulationGroups::Mode AccumulationGroups::mode_of(const View& dst,
                                                     const std::vector<uint32_t>& loops) const {
  const auto found = find(dst.tile());
  require(found != tiles_.end(), "a matrix product writes to a PSUM tile of the builder");
  const Region now = region(dst);
  for (const Written& before : found->second.written) {
    // Writes of an enclosing block are there in every iteration, as are a closed loop's.
    if (!moves_alike(before, dst, loops)) {
      return {.objection = "an earlier product moves through the tile in another way"};
    }
    if (!same_turn(before.ring_index, dst)) continue;  // another tile of the ring
    if (covers(before.region, now)) return {Accumulate::kAdd, {}};
    if (overlap(before.region, now)) {
      return {.objection = "a part of it was written before and a part was not"};
    }
  }
  for (size_t level = found->second.depth; level < loops.size(); ++level) {
    if (!follows(dst, level)) {
      return {.objection =
                  "the first iteration of a loop would overwrite and the others would add"};
    }
  }
  return {Accumulate::kOverwrite, {}};
}

void AccumulationGroups::settle(Draft& draft, const std::vector<uint32_t>& loops) const {
  const int attribute = attribute_of(*draft.type);
  if (attribute < 0) return;
  Attribute& mode = draft.attributes[static_cast<size_t>(attribute)];
  if (mode.as<Accumulate>() != Accumulate::kAuto) return;
  const View& dst = draft.operands[destination_of(*draft.type, attribute)];
  if (dst.memory() != MemoryKind::kPsum) {  // the instruction's own check reports it
    mode = Attribute::of(Accumulate::kOverwrite);
    return;
  }
  const Mode decided = mode_of(dst, loops);
  if (!decided.objection.empty()) {
    fail(text("'", draft.type->name, "' with accumulate=None to ", dst.describe(), ": ",
              decided.objection, "; set accumulate to True or False."));
  }
  mode = Attribute::of(decided.mode);
}

void AccumulationGroups::note(const Draft& draft, const std::vector<uint32_t>& loops) {
  const int attribute = attribute_of(*draft.type);
  if (attribute >= 0) note(draft.operands[destination_of(*draft.type, attribute)], loops);
}

bool AccumulationGroups::note(const View& dst, const std::vector<uint32_t>& loops) {
  const bool is_last = !tiles_.empty() && tiles_.rbegin()->first == dst.tile();
  std::vector<Written>& written = (is_last ? tiles_.rbegin()->second : tiles_[dst.tile()]).written;
  const Region now = region(dst);
  const bool known = std::any_of(written.begin(), written.end(), [&](const Written& before) {
    return covers(before.region, now) && moves_alike(before, dst, loops) &&
           same_turn(before.ring_index, dst);
  });
  if (!known) written.push_back({now, dst.partition(), dst.offset(), dst.ring_index(), loops});
  return true;
}

bool AccumulationGroups::repeats(Accumulate mode, const View& dst,
                                 const std::vector<uint32_t>& loops) {
  if (dst.memory() != MemoryKind::kPsum) return false;
  const Mode decided = mode_of(dst, loops);
  if (!decided.objection.empty() || decided.mode != mode) return false;
  if (mode == Accumulate::kOverwrite) note(dst, loops);  // what adds is covered by what was written
  return true;
}

}  // namespace neuron_sim
