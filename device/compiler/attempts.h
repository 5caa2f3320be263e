#pragma once
// What compile() tries, one after the other, until the chip holds a program.

#include <cstdint>
#include <vector>

#include "device/compiler/pass.h"

namespace neuron_sim {

/// How a core is compiled when what was tried before does not fit.
struct Attempt {
  PassSettings settings;
  int64_t room_to_keep = kWholeRoom;
};

/// The passes that keep tiles longer keep less or give way, one after the other, when the chip
/// cannot hold what they keep. That the compiler does the same, and in which order, is assumed.
/// With `loads_in_time` the list ends where the passes have kept less: none that comes later gives
/// way for the sake of loads in time.
std::vector<Attempt> attempts(const PassSettings& settings, bool loads_in_time);

/// The settings with which a program that does not fit is compiled, one after the other until it
/// does: the given ones, because the compiler allocates, and spills, after all its transformations;
/// those without the passes that give way; those without a middle end, which may have made the
/// tiles of one instruction larger than the chip.
std::vector<PassSettings> attempts_with_spills(PassSettings settings);

}  // namespace neuron_sim
