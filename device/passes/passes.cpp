#include "device/passes/passes.h"

#include "device/passes/allocate.h"
#include "device/passes/assign_queues.h"
#include "device/passes/batch_narrow_operations.h"
#include "device/passes/batch_transposes.h"
#include "device/passes/elide_psum_copies.h"
#include "device/passes/fold_casts.h"
#include "device/passes/fold_zeros.h"
#include "device/passes/merge_dma.h"
#include "device/passes/rename_buffers.h"
#include "device/passes/reuse_loads.h"
#include "device/passes/schedule.h"
#include "device/passes/straight_line.h"
#include "device/program/definedness.h"

namespace neuron_sim {
namespace {

/// Passes over loops and statements, on single-assignment versions.
void run_middle_end(StraightLine& line, const PassSettings& settings) {
  if (settings.reuse_loads) reuse_loads(line, settings);
  if (settings.fold_zeros) fold_zeros(line);
  if (settings.fold_casts) fold_casts(line);
  if (settings.batch_narrow_operations) batch_narrow_operations(line, settings);
  if (settings.batch_transposes) batch_transposes(line);
  if (settings.merge_dma) merge_dma(line, settings);
  if (settings.elide_psum_copies) elide_psum_copies(line);
}

/// Queues, places and the order of instances. False when the versions have no place on chip.
bool run_back_end(StraightLine& line, const PassSettings& settings) {
  bool placed = true;
  if (settings.assign_queues) assign_queues(line, settings);
  if (settings.rename_buffers) placed = allocate_sbuf(line, settings.buffers_per_tile);
  if (settings.schedule) {
    placed = schedule(line, settings) && placed;
  } else if (settings.rename_buffers) {
    placed = allocate_psum(line) && placed;
  }
  return placed;
}

void rename(StraightLine& line, const Program& program) {
  std::vector<TileId> undefined;
  for (const UndefinedRead& read : undefined_reads(program)) undefined.push_back(read.tile);
  rename_buffers(line, undefined);
}

}  // namespace

Compiled compile(std::shared_ptr<const Program> program, const PassSettings& settings) {
  PassSettings nothing;
  nothing.keep_explicit_queues = settings.keep_explicit_queues;
  nothing.disable_dge = settings.disable_dge;
  if (settings == nothing) return {std::move(program), "all passes are off"};
  Unrolled unrolled = unroll(*program);
  if (!unrolled.line) return {std::move(program), std::move(unrolled.reason)};
  StraightLine& line = *unrolled.line;
  if (!settings.rename_buffers) {
    run_back_end(line, settings);
    return {lower(std::move(line)), ""};
  }
  rename(line, *program);
  StraightLine renamed = line;
  run_middle_end(line, settings);
  if (run_back_end(line, settings)) return {lower(std::move(line)), ""};
  // The kernel's own places are right for the kernel's own order only.
  run_back_end(renamed, settings);
  return {lower(std::move(renamed)), ""};
}

}  // namespace neuron_sim
