#pragma once
// elide_psum_copies: Vector and Scalar read PSUM instead of a copy of it in SBUF.
//
// Known (statement names in the four public attention traces, neuronx-cc 2.23): copies that only
// Vector and Scalar instructions read are gone, 8 of 8; those that a product or a transfer reads
// stay, 36 of 36. That a copy stays when its tile would fill PSUM is assumed: the traces keep four
// tiles alive.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes tensor_copy statements from PSUM to SBUF with equal dtypes when all readers of all their
/// instances can read PSUM instead (by their own checks), nothing writes the PSUM tile after the
/// copy, and the program order then never keeps more PSUM tiles alive than there are banks.
void elide_psum_copies(StraightLine& line);

}  // namespace neuron_sim
