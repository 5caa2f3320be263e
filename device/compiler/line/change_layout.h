#pragma once
// A program whose loads of one source line find the elements of a partition side by side, for
// advice.

#include <memory>
#include <string_view>

#include "device/program/program.h"

namespace neuron_sim {

/// The program in which what the loads of `source_line` read of a tensor in HBM is as dense as if
/// the tensor were stored in the order in which they read it; of another tensor, so its time counts
/// and not its values. Null when no load of the line reads runs that are shorter than a partition's
/// elements.
std::shared_ptr<const Program> with_dense_loads(const Program& program,
                                                std::string_view source_line);

}  // namespace neuron_sim
