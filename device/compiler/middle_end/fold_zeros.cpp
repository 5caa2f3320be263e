#include "device/compiler/middle_end/fold_zeros.h"

#include <algorithm>

#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/movement/memset.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

bool is_zero(const StraightLine& line, const StraightInstruction& instance) {
  return instance.instruction.type == &kMemset && line.attributes_of(instance)[0].real() == 0;
}

/// Products that are the first to add to a part of `zeros`; empty unless they add to all of it
/// before anything else touches it.
std::vector<TileUse> first_products(const StraightLine& line, std::span<const TileUse> later,
                                    const Region& zeros) {
  std::vector<TileUse> products;
  std::vector<Region> parts;
  int64_t missing = size_of(zeros);
  for (const TileUse& use : later) {
    const StraightOperand& operand = operand_at(line, use);
    const Region region = line.region_of(operand);
    if (!overlap(region, zeros)) continue;
    const bool again = std::any_of(parts.begin(), parts.end(),
                                   [&](const Region& part) { return covers(part, region); });
    if (again) continue;
    const bool product = line.instructions[use.instance].instruction.type == &kNcMatmul;
    const bool fresh = product && operand.direction == Direction::kReadWrite && region.exact &&
                       covers(zeros, region) &&
                       std::none_of(parts.begin(), parts.end(),
                                    [&](const Region& part) { return overlap(part, region); });
    if (!fresh) return {};
    parts.push_back(region);
    products.push_back(use);
    missing -= size_of(region);
    if (missing == 0) return products;
  }
  return {};
}

void overwrite(StraightLine& line, const TileUse& use) {
  static const auto accumulate = static_cast<size_t>(attribute_index(kNcMatmul, "accumulate"));
  StraightInstruction& instance = line.instructions[use.instance];
  own_attribute(line, instance, accumulate) = Attribute::of(Accumulate::kOverwrite);
  operand_at(line, use).direction = Direction::kWrite;
}

}  // namespace

void fold_zeros(StraightLine& line) {
  const TileUses uses(line);
  std::vector<bool> removed(line.instructions.size());
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (!is_zero(line, line.instructions[i])) continue;
    const StraightOperand& dst = line.operands_of(line.instructions[i])[0];
    const Region zeros = line.region_of(dst);
    if (dst.memory != MemoryKind::kPsum || line.tile_of(dst).placed || !zeros.exact) continue;
    const std::span<const TileUse> all = uses.of(dst.tile);
    const auto later =
        std::find_if(all.begin(), all.end(), [&](const TileUse& use) { return use.instance > i; });
    const auto products =
        first_products(line, all.subspan(static_cast<size_t>(later - all.begin())), zeros);
    for (const TileUse& use : products) overwrite(line, use);
    removed[i] = !products.empty();
  }
  remove_instances(line, removed);
}

}  // namespace neuron_sim
