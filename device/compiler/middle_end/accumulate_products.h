#pragma once
// accumulate_products: a product that is only added to a tile of PSUM is accumulated there.
//
// Known: `psum += nc_matmul(...)` accumulates in PSUM (vendor: the kernel of example 2 in
// nki/test/test_nki_isa_nc_matmul.py of aws-neuron-sdk). Python hands `+=` the same object when the
// product has a name first, so the compiler cannot tell the two apart. A public convolution with
// named products confirms it: its 7,992 products of 222 columns take 103 ns each, all in all, which
// leaves no time for an addition of each on another engine (xaviergonzalez/asst4-trainium2). It is
// what the language means, not a rule of its own: it runs wherever there are versions
// (rename_buffers).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Where `tensor_tensor` adds a tile to an fp32 tile of PSUM in place, on an engine that the kernel
/// leaves open, and the tile holds a product and nothing else (or a copy of that in SBUF): the
/// product adds to the tile of PSUM itself; addition, copy and the product's own tile are gone.
/// Requires that nothing else reads the product, that nothing touches the sum between product and
/// addition, and that whatever else is written to the sum's banks covers all of the sum (a bank
/// holds one open sum). Same bytes: both are one fp32 addition per element. Needs single-assignment
/// versions (rename_buffers.h).
void accumulate_products(StraightLine& line);

}  // namespace neuron_sim
