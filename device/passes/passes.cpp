#include "device/passes/passes.h"

#include "device/passes/allocate.h"
#include "device/passes/assign_queues.h"
#include "device/passes/rename_buffers.h"
#include "device/passes/schedule.h"
#include "device/passes/straight_line.h"
#include "device/program/definedness.h"

namespace neuron_sim {
namespace {

/// Passes over loops and statements, on single-assignment versions.
void run_middle_end(StraightLine&, const PassSettings&) {
  // Slot: reuse_loads, fold_zeros, elide_psum_copies, fold_casts, batch_narrow_operations,
  // batch_transposes, merge_dma, in this order.
}

/// Queues, places and the order of instances.
void run_back_end(StraightLine& line, const PassSettings& settings) {
  if (settings.assign_queues) assign_queues(line, settings);
  if (settings.rename_buffers) allocate_sbuf(line, settings.buffers_per_tile);
  if (settings.schedule) {
    schedule(line, settings);
  } else if (settings.rename_buffers) {
    allocate_psum(line);
  }
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
  if (settings.rename_buffers) {
    std::vector<TileId> undefined;
    for (const UndefinedRead& read : undefined_reads(*program)) undefined.push_back(read.tile);
    rename_buffers(line, undefined);
  }
  run_middle_end(line, settings);
  run_back_end(line, settings);
  return {lower(std::move(line)), ""};
}

}  // namespace neuron_sim
