#include "device/compiler/passes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "device/analysis/access_runs.h"
#include "device/analysis/definedness.h"
#include "device/base/errors.h"
#include "device/compiler/attempts.h"
#include "device/compiler/dump.h"
#include "device/compiler/line/straight_line.h"
#include "device/compiler/middle_end/split_over_cores.h"
#include "device/compiler/pass.h"

namespace neuron_sim {
namespace {

/// Whether a pass needs or creates versions: the others run without them.
bool concerns_versions(const Pass& pass) {
  return pass.needs_versions || pass.stage == Stage::kVersions;
}

/// Sizes of a line's pools: whatever the middle end changes, one of them is another one.
auto sizes_of(const StraightLine& line) {
  return std::tuple(line.instructions.size(), line.operands.size(), line.attributes.size(),
                    line.demands.size(), line.nests.size(), line.tiles.size(), line.loops);
}

/// Runs the passes of a stage that are switched on. False if any of them has no room; the others
/// run nevertheless.
bool run_stage(Stage stage, StraightLine& line, PassState& state) {
  const bool versions = state.settings["rename_buffers"] != 0;
  bool fits = true;
  for (const Pass& pass : pipeline()) {
    if (pass.stage != stage || state.settings[pass.switched_by()] == 0) continue;
    if (pass.needs_versions && !versions) continue;
    const auto before = sizes_of(line);
    fits = run_pass(pass, line, state) && fits;
    if (sizes_of(line) != before) state.effective.insert(pass.switched_by());
  }
  return fits;
}

/// Orders instances and places PSUM tiles; returns how long that takes in the compiler's simulated
/// time (0 without a schedule). Empty when the versions have no place in PSUM.
std::optional<Picoseconds> order(StraightLine& line, PassState& state) {
  state.length = {};
  return run_stage(Stage::kOrder, line, state) ? std::optional(state.length) : std::nullopt;
}

/// Assigns queues and places in SBUF. False when the versions do not fit.
bool place(StraightLine& line, PassState& state, std::optional<SbufReuse> reuse) {
  state.reuse = reuse;
  return run_stage(Stage::kPlaces, line, state);
}

std::vector<int64_t> addresses_of(const StraightLine& line) {
  std::vector<int64_t> addresses;
  addresses.reserve(line.tiles.size());
  for (const Tile& tile : line.tiles) addresses.push_back(tile.address);
  return addresses;
}

/// What the back end changes of a line: the order and engines of its instances and the places of
/// its tiles. Attributes and demands only grow. A copy of the operands of a long program would be
/// several times as large.
struct Arrangement {
  std::vector<StraightInstruction> instructions;
  std::vector<int64_t> addresses;  ///< per tile
};

void arrange(StraightLine& line, Arrangement arrangement) {
  move_tiles(line, arrangement.addresses);
  line.instructions = std::move(arrangement.instructions);
}

/// Whether the tiles in SBUF have those addresses.
bool has_places(const StraightLine& line, const std::vector<int64_t>& addresses) {
  return std::equal(line.tiles.begin(), line.tiles.end(), addresses.begin(), addresses.end(),
                    [](const Tile& tile, int64_t address) {
                      return tile.memory != MemoryKind::kSbuf || tile.address == address;
                    });
}

/// Whether tiles that may get another place in SBUF differ in size. If they do not, all space that
/// is free again is of the same size, and is reused in the order in which it was freed.
bool has_several_sizes(const StraightLine& line) {
  int64_t size = -1;
  return std::any_of(line.tiles.begin(), line.tiles.end(), [&](const Tile& tile) {
    if (tile.memory != MemoryKind::kSbuf || tile.placed) return false;
    const int64_t bytes = SlotAllocator::rounded(tile.bytes);
    if (size < 0) size = bytes;
    return bytes != size;
  });
}

/// The shorter of the back end's results for both ways to reuse SBUF, measured by the compiler's
/// own costs; the space freed first, whatever its size, where neither has room. That the compiler
/// weighs its allocations is assumed; which one it takes is not known, and each is far off for one
/// of two public attention kernels.
std::optional<StraightLine> shortest_back_end(StraightLine line, PassState& state) {
  constexpr std::optional<SbufReuse> kReuses[] = {SbufReuse::kSameSize, SbufReuse::kLargerSpace,
                                                  std::nullopt};
  // Queues are assigned once: without a second way to reuse SBUF only the places may go back.
  const bool several_sizes = has_several_sizes(line);
  Arrangement start{{}, addresses_of(line)};
  if (several_sizes) start.instructions = line.instructions;
  std::vector<std::vector<int64_t>> tried;
  std::optional<Arrangement> best;
  Picoseconds shortest{};
  for (const std::optional<SbufReuse> reuse : kReuses) {
    if (!several_sizes && (reuse == SbufReuse::kLargerSpace || best)) continue;
    const bool may_rotate = state.settings["place_large_first"] != 0 && !state.loads_in_time;
    if (!reuse && (best || !may_rotate)) break;
    // Few copies are kept: the line may be long.
    if (several_sizes) {
      arrange(line, reuse ? start : std::exchange(start, {}));
    } else {
      move_tiles(line, start.addresses);
    }
    if (!place(line, state, reuse)) continue;
    const auto known = [&](const auto& places) { return has_places(line, places); };
    if (std::any_of(tried.begin(), tried.end(), known)) continue;
    tried.push_back(addresses_of(line));
    const std::optional<Picoseconds> length = order(line, state);
    if (!length || (best && *length >= shortest)) continue;
    shortest = *length;
    best = Arrangement{std::move(line.instructions), addresses_of(line)};
  }
  if (!best) return std::nullopt;
  arrange(line, std::move(*best));
  state.length = shortest;
  return line;
}

/// Switches that `wanted` has on and `used` has off.
std::vector<std::string> left_out(const PassSettings& wanted, const PassSettings& used) {
  std::vector<std::string> names;
  for (const PassSetting& each : pass_settings()) {
    if (wanted[each.name] > used[each.name]) names.emplace_back(each.name);
  }
  return names;
}

/// The settings that remain when renamed buffers do not fit: tiles keep the kernel's places.
PassSettings in_place(PassSettings settings) {
  for (const PassSetting& each : pass_settings()) {
    if (concerns_versions(pass_named(each.pass))) settings.set(each.name, 0);
  }
  return settings;
}

std::vector<TileId> undefined_tiles(const Program& program) {
  std::vector<TileId> tiles;
  for (const UndefinedRead& read : undefined_reads(program)) tiles.push_back(read.tile);
  return tiles;
}

[[noreturn]] void fail_without_spills(const Program& program, std::string_view why) {
  const size_t end = program.overflow.find('\n');  // of the sentence; the tiles follow
  const std::string sentence = program.overflow.substr(0, end),
                    tiles = program.overflow.substr(end);
  fail(text(sentence, " None is spilled to HBM: ", why, ".", tiles), ErrorKind::kOutOfMemory);
}

/// The line with spills, by the first room for which all tiles have a place. Fragments of free
/// space may be of no use: then less is filled, until nothing stays on the chip between two
/// instances.
std::optional<StraightLine> spilled_back_end(const StraightLine& line, PassState& state,
                                             bool loads_in_time) {
  state.loads_in_time = loads_in_time;
  for (const int64_t room : {kWholeRoom, int64_t{7}, int64_t{6}, int64_t{4}, int64_t{0}}) {
    if (loads_in_time && room == 0) break;  // reloads of everything are never shorter
    state.room = room;
    StraightLine attempt = line;
    run_stage(Stage::kSpills, attempt, state);
    if (auto compiled = shortest_back_end(std::move(attempt), state)) return compiled;
  }
  return std::nullopt;
}

/// The shorter, by the compiler's own costs, of the lines whose reloads wait for places and whose
/// reloads, of more tiles, have places in time. A published kernel of low-rank adapters, which
/// spills 0.4 GB, takes 3 % less than measured with the latter and 20 % more with the former.
std::optional<StraightLine> spilled_back_end(const StraightLine& line, PassState& state) {
  state.settings.set("place_large_first", 1);
  std::optional<StraightLine> waiting = spilled_back_end(line, state, false);
  const Picoseconds length = state.length;
  std::optional<StraightLine> in_time = spilled_back_end(line, state, true);
  return in_time && (!waiting || state.length < length) ? std::move(in_time) : std::move(waiting);
}

/// A core's line before the passes: both halves of a program that is split come from its only one.
StraightLine line_of_core(const Program& program, size_t core) {
  return *unroll(program, std::min(core, program.cores.size() - 1)).line;
}

/// The passes' result for one core, and the settings that remained.
struct CompiledCore {
  StraightLine line;
  PassSettings used;
  bool at_once = false;  ///< by the first attempt
};

/// A core of a program whose tiles do not fit where the kernel declares them.
CompiledCore compile_overflowing(const Program& program, size_t core, const PassSettings& settings,
                                 const std::vector<TileId>& undefined) {
  const StraightLine unrolled = line_of_core(program, core);
  PassState state{.settings = settings, .undefined = undefined, .core = core, .overflows = true};
  for (const PassSettings& attempt : attempts_with_spills(settings)) {
    state.settings = attempt;
    StraightLine line = unrolled;
    run_stage(Stage::kVersions, line, state);
    run_stage(Stage::kMiddleEnd, line, state);
    std::optional<StraightLine> compiled;
    for (const bool in_time : {true, false}) {
      state.loads_in_time = in_time;
      if (!compiled) compiled = shortest_back_end(StraightLine(line), state);
    }
    if (!compiled) compiled = spilled_back_end(line, state);
    if (compiled) return {std::move(*compiled), attempt};
  }
  fail_without_spills(program, "the tiles of one instruction have no place together");
}

/// Whether an attempt gives the line of the one before it: that one differs only in passes that
/// changed nothing.
bool repeats(const Attempt& attempt, const Attempt& before,
             const std::set<std::string_view>& effective) {
  const auto same = [&](const Pass& pass) {
    const std::string_view name = pass.switched_by();
    const bool alike = attempt.settings[name] == before.settings[name] &&
                       (pass.keeps_less == 0 || attempt.room_to_keep == before.room_to_keep);
    return alike || !effective.contains(name);
  };
  return std::all_of(pipeline().begin(), pipeline().end(), same);
}

/// The first attempt whose tiles have places; state.length is how long it takes.
std::optional<CompiledCore> first_that_fits(const Program& program, size_t core, PassState& state,
                                            const std::vector<Attempt>& list) {
  for (const Attempt& attempt : list) {
    const bool at_once = &attempt == &list.front();
    if (!at_once && repeats(attempt, *(&attempt - 1), state.effective)) continue;
    state.effective.clear();
    // Unrolled again, not copied: most programs need no copy, long ones have no room for it.
    StraightLine line = line_of_core(program, core);
    run_stage(Stage::kVersions, line, state);
    state.settings = attempt.settings;
    state.room_to_keep = attempt.room_to_keep;
    run_stage(Stage::kMiddleEnd, line, state);
    if (auto compiled = shortest_back_end(std::move(line), state)) {
      return CompiledCore{std::move(*compiled), attempt.settings, at_once};
    }
  }
  return std::nullopt;
}

/// Bytes that the line loads to SBUF.
int64_t loaded_bytes(const StraightLine& line) {
  int64_t bytes = 0;
  for (const StraightInstruction& instance : line.instructions) {
    const Operand result = line.whole(line.operands_of(instance)[0]);
    if (!is_transfer(line, instance) || result.memory != MemoryKind::kSbuf) continue;
    bytes += elements_of(result) * itemsize(result.dtype);
  }
  return bytes;
}

/// Whether one line loads more than another by as much as SBUF holds.
bool loads_a_filling_more(const StraightLine& line, const StraightLine& other) {
  const Limits& limits = line.architecture->limits;
  return loaded_bytes(line) - loaded_bytes(other) > limits.sbuf_usable.count * limits.partitions;
}

/// A core of any other program: the shorter, by the compiler's own costs, of what fits with loads
/// that have places in time, and with loads that wait for places while more is kept. That loads in
/// time do not cost a whole filling of SBUF is inferred: the profile of NKIBench's
/// matmul_add_rmsnorm, whose weights take 128 of 176 KiB, reads 98 MB; loads in time read 287 MB,
/// and would hide the 0.6 ms that the Tensor engine waits there between row blocks.
CompiledCore compile_fitting(const Program& program, size_t core, const PassSettings& settings,
                             const std::vector<TileId>& undefined) {
  PassState state{
      .settings = settings, .undefined = undefined, .core = core, .loads_in_time = true};
  const bool renames = settings["rename_buffers"] != 0;
  if (renames) {
    std::optional<CompiledCore> in_time =
        first_that_fits(program, core, state, attempts(settings, true));
    if (in_time && in_time->at_once) return std::move(*in_time);
    const Picoseconds length = state.length;
    state.loads_in_time = false;
    std::optional<CompiledCore> waiting =
        first_that_fits(program, core, state, attempts(settings, false));
    const bool loads_too_much =
        in_time && waiting && loads_a_filling_more(in_time->line, waiting->line);
    if (in_time && !loads_too_much && (!waiting || length <= state.length)) {
      return std::move(*in_time);
    }
    if (waiting) return std::move(*waiting);
  }
  // The kernel's own places are valid only for the kernel's own order.
  StraightLine line = line_of_core(program, core);
  state.settings = settings;
  run_stage(Stage::kVersions, line, state);
  place(line, state, SbufReuse::kSameSize);
  order(line, state);
  return {std::move(line), renames ? in_place(settings) : settings};
}

/// Switches that are off on either core are off in `used`.
void leave_out(PassSettings& used, const PassSettings& of_core) {
  for (const PassSetting& each : pass_settings()) {
    if (of_core[each.name] == 0) used.set(each.name, 0);
  }
}

}  // namespace

Compiled compile(std::shared_ptr<const Program> program, const PassSettings& wanted) {
  check_dump_request(dump_request());
  PassSettings settings = wanted;
  if (settings["rename_buffers"] == 0 || !can_be_split(*program)) {
    settings.set("split_over_cores", 0);
  }
  const bool overflows = !program->overflow.empty();
  const PassSettings nothing{{"disable_dge", settings["disable_dge"]}};
  if (!overflows && settings == nothing) return {std::move(program), "all passes are off", {}};
  std::string objection = unroll_objection(*program);
  if (overflows && !objection.empty()) fail_without_spills(*program, objection);
  if (!objection.empty()) return {std::move(program), std::move(objection), {}};
  std::vector<TileId> undefined;
  if (overflows || settings["rename_buffers"] != 0) undefined = undefined_tiles(*program);
  std::vector<StraightLine> lines;
  PassSettings used = settings;
  const size_t cores = settings["split_over_cores"] != 0 ? 2 : program->cores.size();
  for (size_t core = 0; core < cores; ++core) {
    CompiledCore compiled = overflows ? compile_overflowing(*program, core, settings, undefined)
                                      : compile_fitting(*program, core, settings, undefined);
    leave_out(used, compiled.used);
    const bool idles = core > 0 && compiled.line.instructions.empty();
    if (!idles) lines.push_back(std::move(compiled.line));
  }
  return {lower(std::move(lines)), "", left_out(wanted, used)};
}

}  // namespace neuron_sim
