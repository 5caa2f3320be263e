#pragma once
// A pass of the compiler, and the one list of all of them (pipeline.cpp).

#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/pass_settings.h"
#include "device/memory/slot_allocator.h"

namespace neuron_sim {

/// PassState::room of a whole memory.
inline constexpr int64_t kWholeRoom = 8;

/// State of the passes besides the line.
struct PassState {
  PassSettings settings;
  std::vector<TileId> undefined = {};  ///< tiles that the kernel reads before it writes them
  /// How space in SBUF is reused; empty: large tiles get their places first (rotate_sbuf).
  std::optional<SbufReuse> reuse = SbufReuse::kSameSize;
  size_t core = 0;             ///< whose line it is
  bool loads_in_time = false;  ///< loaded tiles hold their places from when the loads are issued
  Picoseconds length{};    ///< of the order that schedule found, in the compiler's simulated time
  bool overflows = false;  ///< the kernel's own places lie beyond the end of SBUF or PSUM
  int64_t room = kWholeRoom;  ///< share of SBUF and PSUM that tiles may fill when some are spilled
  int64_t room_to_keep = kWholeRoom;          ///< share of SBUF up to which loaded tiles stay alive
  std::set<std::string_view> effective = {};  ///< switches of passes that changed the line
};

/// Parts of the pipeline, in this order; compile() decides which are run again.
enum class Stage : uint8_t {
  kVersions,   ///< single-assignment versions of the tiles on chip
  kMiddleEnd,  ///< what is computed where, on versions
  kSpills,     ///< copies of tiles that leave the chip; only of programs that do not fit
  kPlaces,     ///< queues, and addresses in SBUF
  kOrder,      ///< the order of instances, and banks of PSUM
};

/// Properties that a pass preserves; verify() checks them.
struct Keeps {
  bool order = false;      ///< instances that remain follow each other as before
  bool instances = false;  ///< none is added or removed
  bool places = false;     ///< every tile stays at its address
  bool stores = true;      ///< as many bytes of every argument are written
};

/// Why a pass takes the iterations of a loop one by one; taken_by() in dump.cpp has the words.
enum class Iterations : uint8_t {
  kTogether,  ///< it compares instances of several iterations, which may share bytes
  kVersions,  ///< tiles get a version in each iteration
  kPlaced,    ///< it places or schedules each iteration separately
  kAlike,     ///< it need not: what it does to an instruction is alike in all iterations
};

/// One pass: a row of the pipeline.
struct Pass {
  const char* name;
  Stage stage;
  bool needs_versions;  ///< runs after rename_buffers only
  Keeps keeps;
  /// False when the chip has no room for the result; the line is then unchanged.
  bool (*run)(StraightLine& line, PassState& state);
  Iterations iterations = Iterations::kTogether;
  /// Its turn among the passes that keep tiles longer, when the chip cannot hold what they keep;
  /// 0: it never gives way.
  int gives_way = 0;
  const char* on = nullptr;  ///< the switch shared with another pass; else the one of its name
  int keeps_less = 0;        ///< its turn among them to keep in less room; 0: it never does
  /// It changes no line without an instance of that type, and is skipped there.
  const InstructionType* only_with = nullptr;

  const char* switched_by() const { return on != nullptr ? on : name; }
};

/// All passes in the order in which they run.
std::span<const Pass> pipeline();
/// The pass of that name; it must exist.
const Pass& pass_named(std::string_view name);

/// Runs a pass, then verifies the line (verify.h) and prints it (dump.h) if requested.
bool run_pass(const Pass& pass, StraightLine& line, PassState& state);

}  // namespace neuron_sim
