#include "device/runtime/timing_only.h"

#include <atomic>

namespace neuron_sim {
namespace {

std::atomic<bool> is_wanted{false};

}  // namespace

void set_timing_only(bool wanted) { is_wanted = wanted; }

bool timing_only() { return is_wanted; }

}  // namespace neuron_sim
