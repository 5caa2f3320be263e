// The passes of the compiler in the order of the vendor's pipeline as far as it is known, and the
// settings that they read. The header of each pass states what is known of it.

#include <algorithm>
#include <type_traits>

#include "device/base/errors.h"
#include "device/compiler/back_end/allocate.h"
#include "device/compiler/back_end/assign_queues.h"
#include "device/compiler/back_end/schedule.h"
#include "device/compiler/back_end/spill.h"
#include "device/compiler/batching/batch_narrow_operations.h"
#include "device/compiler/batching/batch_transposes.h"
#include "device/compiler/batching/merge_dma.h"
#include "device/compiler/batching/split_sums.h"
#include "device/compiler/dump.h"
#include "device/compiler/middle_end/accumulate_products.h"
#include "device/compiler/middle_end/elide_psum_copies.h"
#include "device/compiler/middle_end/eliminate_copies.h"
#include "device/compiler/middle_end/eliminate_dead_stores.h"
#include "device/compiler/middle_end/fold_zeros.h"
#include "device/compiler/middle_end/forward_stores.h"
#include "device/compiler/middle_end/fuse_elementwise.h"
#include "device/compiler/middle_end/hoist_invariants.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/compiler/middle_end/reuse_loads.h"
#include "device/compiler/middle_end/reuse_transposes.h"
#include "device/compiler/middle_end/select_activations.h"
#include "device/compiler/middle_end/share_constants.h"
#include "device/compiler/middle_end/split_over_cores.h"
#include "device/compiler/pass.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/compiler/verify.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {
namespace {

/// A function of the line, and maybe the settings, as a pass that always has room.
template <auto function>
bool run(StraightLine& line, [[maybe_unused]] PassState& state) {
  if constexpr (std::is_invocable_v<decltype(function), StraightLine&>) {
    function(line);
  } else {
    function(line, state.settings);
  }
  return true;
}

bool run_rename_buffers(StraightLine& line, PassState& state) {
  rename_buffers(line, state.undefined, state.overflows);
  return true;
}

bool run_split_over_cores(StraightLine& line, PassState& state) {
  split_over_cores(line, state.core);
  return true;
}

bool run_reuse_loads(StraightLine& line, PassState& state) {
  const int64_t room = line.architecture->limits.sbuf_usable.count - kDescriptorBytes;
  reuse_loads(line, room * state.room_to_keep / kWholeRoom, state.loads_in_time);
  return true;
}

bool run_allocate_sbuf(StraightLine& line, PassState& state) {
  if (!state.reuse) return rotate_sbuf(line);
  return allocate_sbuf(line, *state.reuse, state.loads_in_time);
}

bool run_spill_psum(StraightLine& line, PassState& state) {
  const Limits& limits = line.architecture->limits;
  spill_psum(line, limits.psum_banks * state.room / kWholeRoom * limits.psum_bank.count);
  return true;
}

bool run_spill_sbuf(StraightLine& line, PassState& state) {
  spill_sbuf(line, line.architecture->limits.sbuf_usable.count * state.room / kWholeRoom);
  return true;
}

bool run_schedule(StraightLine& line, PassState& state) {
  const std::optional<Picoseconds> length = schedule(line, state.settings);
  state.length = length.value_or(Picoseconds{});
  return length.has_value();
}

bool run_allocate_psum(StraightLine& line, PassState& state) {
  return state.settings["schedule"] != 0 || allocate_psum(line);
}

constexpr Keeps kOrderAndPlaces{.order = true, .places = true};
constexpr Keeps kInstancesAndPlaces{.instances = true, .places = true};
constexpr Keeps kPlaces{.places = true};
constexpr Keeps kOrderAndInstances{.order = true, .instances = true};
constexpr Keeps kKeepsAll{.order = true, .instances = true, .places = true};

constexpr Keeps kOrderAndPlacesOfHalf{.order = true, .places = true, .stores = false};

constexpr Stage kMiddle = Stage::kMiddleEnd;
using enum Iterations;
// name, stage, whether it needs versions, what it keeps, how it runs, why on unrolled iterations,
// when it gives way, its switch, when it keeps less, the instruction without which it has nothing
// to do
constexpr Pass kPipeline[] = {
    {"rename_buffers", Stage::kVersions, false, kKeepsAll, run_rename_buffers, kVersions},
    {"split_over_cores", Stage::kVersions, true, kOrderAndPlacesOfHalf, run_split_over_cores},
    {"share_constants", kMiddle, true, kOrderAndPlaces, run<share_constants>, kTogether, 0,
     "rename_buffers", 0, &kMemset},
    {"accumulate_products", kMiddle, true, kOrderAndPlaces, run<accumulate_products>, kTogether, 0,
     "rename_buffers", 0, &kNcMatmul},
    {"forward_stores", kMiddle, true, kOrderAndPlaces, run<forward_stores>, kTogether, 7, nullptr,
     0, &kDmaCopy},
    {"reuse_loads", kMiddle, true, kOrderAndPlaces, run_reuse_loads, kTogether, 4, nullptr, 2,
     &kDmaCopy},
    {"hoist_invariants", kMiddle, true, kOrderAndPlaces, run<hoist_invariants>, kTogether, 3},
    {"eliminate_copies", kMiddle, true, kOrderAndPlaces, run<eliminate_copies>, kTogether, 0,
     nullptr, 0, &kTensorCopy},
    {"reuse_transposes", kMiddle, true, kOrderAndPlaces, run<reuse_transposes>, kTogether, 8,
     nullptr, 0, &kNcTranspose},
    {"fold_zeros", kMiddle, true, kOrderAndPlaces, run<fold_zeros>, kTogether, 0, nullptr, 0,
     &kMemset},
    {"fuse_elementwise", kMiddle, true, kOrderAndPlaces, run<fuse_elementwise>, kTogether, 0,
     nullptr, 0, &kTensorScalar},
    {"batch_narrow_operations", kMiddle, true, kPlaces, run<batch_narrow_operations>, kTogether, 1},
    {"eliminate_dead_stores", kMiddle, true, kOrderAndPlaces, run<eliminate_dead_stores>, kTogether,
     0, "fold_zeros", 0, &kMemset},
    {"split_sums", kMiddle, true, kInstancesAndPlaces, run<split_sums>, kTogether, 0,
     "batch_narrow_operations"},
    {"batch_transposes", kMiddle, true, kPlaces, run<batch_transposes>, kTogether, 0, nullptr, 0,
     &kTensorCopy},
    {"merge_dma", kMiddle, true, kPlaces, run<merge_dma>, kTogether, 5, nullptr, 0, &kDmaCopy},
    {"elide_psum_copies", kMiddle, true, kOrderAndPlaces, run<elide_psum_copies>, kTogether, 6,
     nullptr, 0, &kTensorCopy},
    {"select_activations", kMiddle, true, kOrderAndPlaces, run<select_activations>, kAlike, 0,
     nullptr, 0, &kTensorScalar},
    {"spill_psum", Stage::kSpills, true, kPlaces, run_spill_psum, kPlaced, 0, "rename_buffers"},
    {"spill_sbuf", Stage::kSpills, true, kPlaces, run_spill_sbuf, kPlaced, 0, "rename_buffers"},
    {"assign_queues", Stage::kPlaces, false, kKeepsAll, run<assign_queues>, kAlike},
    {"allocate_sbuf", Stage::kPlaces, true, kOrderAndInstances, run_allocate_sbuf, kPlaced, 0,
     "rename_buffers"},
    {"schedule", Stage::kOrder, false, {.instances = true}, run_schedule, kPlaced},
    {"allocate_psum", Stage::kOrder, true, kOrderAndInstances, run_allocate_psum, kPlaced, 0,
     "rename_buffers"},
};

constexpr PassSetting kSettings[] = {
    {"rename_buffers", "rename_buffers",
     "on-chip tiles become single-assignment versions, equal constants one, and products that are "
     "added to a tile of PSUM accumulate there"},
    {"split_over_cores", "split_over_cores",
     "the flag --logical-nc-config=2: a kernel of one core runs on both cores of a logical core"},
    {"place_large_first", "allocate_sbuf",
     "large tiles get their places in SBUF first when tiles do not fit otherwise"},
    {"forward_stores", "forward_stores",
     "loads of what the program itself stored become copies in SBUF"},
    {"reuse_loads", "reuse_loads",
     "loads of bytes that an earlier tile holds disappear, as far as SBUF holds the tile"},
    {"reuse_transposes", "reuse_transposes",
     "a transpose of bytes that are transposed already reads the earlier tile"},
    {"hoist_invariants", "hoist_invariants",
     "computations that do not change in their loop happen once"},
    {"fold_zeros", "fold_zeros",
     "memsets disappear whose bytes are all overwritten, those of sums in PSUM by the first "
     "product"},
    {"fuse_elementwise", "fuse_elementwise",
     "two element-wise instructions of which one alone reads the other's result become one"},
    {"elide_psum_copies", "elide_psum_copies",
     "copies out of PSUM that only Vector and Scalar read disappear"},
    {"elide_rounding_copies", "elide_psum_copies",
     "copies out of PSUM that round float32 to float16 or bfloat16 disappear, which changes bytes"},
    {"eliminate_copies", "eliminate_copies", "copies within SBUF disappear"},
    {"select_activations", "select_activations",
     "products and sums with a number or a vector whose engine the kernel leaves open are "
     "activations on generation 2"},
    {"batch_narrow_operations", "batch_narrow_operations",
     "results of one element per partition are batched; the loops around them and around sums of "
     "products are split"},
    {"batch_transposes", "batch_transposes", "transposes share a bank of PSUM and a copy"},
    {"merge_dma", "merge_dma", "adjacent transfers become one"},
    {"merge_input_loads", "merge_dma", "the same for loads of the kernel's inputs: inferred"},
    {"assign_queues", "assign_queues", "triggers move to the queues that the compiler uses"},
    {"disable_dge", "assign_queues",
     "the flag --disable-dge: descriptors are prepared by the compiler, none are generated"},
    {"schedule", "schedule", "list scheduling of the unrolled program; allocates PSUM banks"},
    {"choose_copy_engines", "schedule",
     "copies to SBUF whose engine the kernel leaves open run on Scalar or Vector, whichever is "
     "free "
     "first"},
    {"copy_psum_on_scalar", "schedule", "of these, copies out of PSUM all run on Scalar"},
    {"keep_groups_together", "schedule",
     "an accumulation group is finished before the next one of its statement starts"},
    {"hoist_loads", "schedule",
     "loads that wait for nothing come first, in the order of their first readers"},
};

/// Whether the line has an instance that the pass is made for.
bool has_work(const Pass& pass, const StraightLine& line) {
  return pass.only_with == nullptr ||
         std::any_of(line.instructions.begin(), line.instructions.end(),
                     [&](const StraightInstruction& instance) {
                       return instance.instruction.type == pass.only_with;
                     });
}

}  // namespace

std::span<const PassSetting> pass_settings() { return kSettings; }

std::span<const Pass> pipeline() { return kPipeline; }

const Pass& pass_named(std::string_view name) {
  const auto* pass = std::find_if(std::begin(kPipeline), std::end(kPipeline),
                                  [&](const Pass& each) { return name == each.name; });
  require(pass != std::end(kPipeline), "the pipeline has the pass that is asked for");
  return *pass;
}

bool run_pass(const Pass& pass, StraightLine& line, PassState& state) {
  const StraightLine before = verifies_passes() ? line : StraightLine{};
  const bool fits = has_work(pass, line) ? pass.run(line, state) : true;
  if (verifies_passes()) verify(pass, before, line);
  dump(pass, line);
  return fits;
}

}  // namespace neuron_sim
