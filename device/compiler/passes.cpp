#include "device/compiler/passes.h"

#include <algorithm>
#include <optional>

#include "device/analysis/definedness.h"
#include "device/compiler/back_end/allocate.h"
#include "device/compiler/back_end/assign_queues.h"
#include "device/compiler/back_end/schedule.h"
#include "device/compiler/line/straight_line.h"
#include "device/compiler/middle_end/batch_narrow_operations.h"
#include "device/compiler/middle_end/batch_transposes.h"
#include "device/compiler/middle_end/elide_psum_copies.h"
#include "device/compiler/middle_end/eliminate_dead_stores.h"
#include "device/compiler/middle_end/fold_casts.h"
#include "device/compiler/middle_end/fold_zeros.h"
#include "device/compiler/middle_end/forward_stores.h"
#include "device/compiler/middle_end/hoist_invariants.h"
#include "device/compiler/middle_end/merge_dma.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/compiler/middle_end/reuse_loads.h"
#include "device/compiler/middle_end/split_sums.h"

namespace neuron_sim {
namespace {

/// Passes over loops and statements, on single-assignment versions.
void run_middle_end(StraightLine& line, const PassSettings& settings) {
  if (settings.forward_stores) forward_stores(line);
  if (settings.reuse_loads) {
    PassSettings reuse = settings;
    if (std::ssize(line.instructions) <= settings.reuse_instances) reuse.reuse_loops = 0;
    reuse_loads(line, reuse);
  }
  if (settings.hoist_invariants) hoist_invariants(line);
  if (settings.eliminate_copies) eliminate_copies(line);
  if (settings.fold_zeros) fold_zeros(line);
  if (settings.fold_casts) fold_casts(line);
  if (settings.batch_narrow_operations) batch_narrow_operations(line, settings);
  if (settings.eliminate_dead_stores) eliminate_dead_stores(line);
  if (settings.split_sums) split_sums(line);
  if (settings.batch_transposes) batch_transposes(line);
  if (settings.merge_dma) merge_dma(line, settings);
  if (settings.elide_psum_copies) elide_psum_copies(line);
}

/// Queues and places in SBUF. False when the versions have none.
bool place(StraightLine& line, const PassSettings& settings, SbufReuse reuse) {
  if (settings.assign_queues) assign_queues(line, settings);
  return !settings.rename_buffers || allocate_sbuf(line, settings.buffers_per_tile, reuse);
}

/// The order of instances and places in PSUM: how long that takes in the compiler's simulated time
/// (0 without a schedule). Empty when the versions have no place in PSUM.
std::optional<Picoseconds> order(StraightLine& line, const PassSettings& settings) {
  if (settings.schedule) return schedule(line, settings);
  if (settings.rename_buffers && !allocate_psum(line)) return std::nullopt;
  return Picoseconds{};
}

bool same_places(const StraightLine& a, const StraightLine& b) {
  return std::equal(a.tiles.begin(), a.tiles.end(), b.tiles.begin(), b.tiles.end(),
                    [](const Tile& x, const Tile& y) {
                      return x.memory != MemoryKind::kSbuf || x.address == y.address;
                    });
}

/// The shorter of the back end's results for both ways to reuse SBUF, measured by the compiler's
/// own costs. That the compiler weighs its allocations is assumed; which one it takes is not known,
/// and each is far off for one of two public attention kernels.
std::optional<StraightLine> shorter_back_end(StraightLine line, const PassSettings& settings) {
  StraightLine first = line;
  const bool fits = place(first, settings, SbufReuse::kSameSize);
  StraightLine second = settings.place_large_first ? line : std::move(line);
  const bool differs =
      place(second, settings, SbufReuse::kLargerSpace) && !(fits && same_places(first, second));
  if (!differs) second = {};  // the memory of a long program
  const std::optional<Picoseconds> length = fits ? order(first, settings) : std::nullopt;
  const std::optional<Picoseconds> other = differs ? order(second, settings) : std::nullopt;
  if (other && (!length || *other < *length)) return second;
  if (length) return first;
  if (!settings.place_large_first || !rotate_sbuf(line)) return std::nullopt;
  return order(line, settings) ? std::optional(std::move(line)) : std::nullopt;
}

/// The passes that keep tiles longer give way, one after the other, when the chip cannot hold what
/// they keep. That the compiler does the same, and in which order, is assumed.
std::vector<PassSettings> attempts(const PassSettings& settings) {
  std::vector<PassSettings> result{settings};
  for (bool PassSettings::*pass :
       {&PassSettings::batch_narrow_operations, &PassSettings::hoist_invariants,
        &PassSettings::reuse_loads, &PassSettings::merge_dma, &PassSettings::elide_psum_copies,
        &PassSettings::forward_stores}) {
    if (!(settings.*pass)) continue;
    result.push_back(result.back());
    result.back().*pass = false;
  }
  return result;
}

/// Switches that `wanted` has on and `used` has off.
std::vector<std::string> left_out(const PassSettings& wanted, const PassSettings& used) {
  std::vector<std::string> names;
  for (const SettingField& field : setting_fields()) {
    if (field.flag != nullptr && wanted.*field.flag && !(used.*field.flag)) {
      names.emplace_back(field.name);
    }
  }
  return names;
}

/// What is left of the settings when renamed buffers do not fit: places stay the kernel's own.
PassSettings in_place(const PassSettings& settings) {
  PassSettings result;
  for (const SettingField& field : setting_fields()) {
    if (field.number != nullptr) result.*field.number = settings.*field.number;
  }
  for (bool PassSettings::*pass :
       {&PassSettings::assign_queues, &PassSettings::schedule, &PassSettings::keep_explicit_queues,
        &PassSettings::disable_dge, &PassSettings::choose_copy_engines,
        &PassSettings::keep_groups_together, &PassSettings::hoist_loads}) {
    result.*pass = settings.*pass;
  }
  return result;
}

std::vector<TileId> undefined_tiles(const Program& program) {
  std::vector<TileId> tiles;
  for (const UndefinedRead& read : undefined_reads(program)) tiles.push_back(read.tile);
  return tiles;
}

}  // namespace

Compiled compile(std::shared_ptr<const Program> program, const PassSettings& settings) {
  PassSettings nothing;
  nothing.keep_explicit_queues = settings.keep_explicit_queues;
  nothing.disable_dge = settings.disable_dge;
  if (settings == nothing) return {std::move(program), "all passes are off", {}};
  Unrolled unrolled = unroll(*program);
  if (!unrolled.line) return {std::move(program), std::move(unrolled.reason), {}};
  if (!settings.rename_buffers) {
    place(*unrolled.line, settings, SbufReuse::kSameSize);
    order(*unrolled.line, settings);
    return {lower(std::move(*unrolled.line)), "", {}};
  }
  const std::vector<TileId> undefined = undefined_tiles(*program);
  rename_buffers(*unrolled.line, undefined);
  for (const PassSettings& attempt : attempts(settings)) {
    StraightLine& line = *unrolled.line;
    run_middle_end(line, attempt);
    if (auto compiled = shorter_back_end(std::move(line), attempt)) {
      return {lower(std::move(*compiled)), "", left_out(settings, attempt)};
    }
    // Anew instead of from a copy: most programs need none, and long ones have no room for it.
    unrolled = unroll(*program);
    rename_buffers(*unrolled.line, undefined);
  }
  // The kernel's own places are right for the kernel's own order only.
  place(*unrolled.line, settings, SbufReuse::kSameSize);
  order(*unrolled.line, settings);
  return {lower(std::move(*unrolled.line)), "", left_out(settings, in_place(settings))};
}

}  // namespace neuron_sim
