#pragma once
// reuse_transposes: what several products read transposed is transposed once.
//
// Elimination of common subexpressions, as optimizing compilers do it; not known of the vendor's
// compiler in particular: in the four public traces no two transposes are equal. It is for programs
// of whole graphs, in which the products of one input (query, key and value) each transpose it.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes the transposes through PSUM that fill a tile of SBUF, and the copies after them, when an
/// earlier tile of the same layout was filled in the same way from the same bytes: its readers read
/// the earlier tile. That one lives longer, as long as no more than half of SBUF is in use
/// (kForwardingParts). Tiles placed by hand stay. Needs single-assignment versions
/// (rename_buffers.h).
void reuse_transposes(StraightLine& line);

}  // namespace neuron_sim
