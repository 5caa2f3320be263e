#pragma once
// elide_psum_copies: Vector and Scalar read PSUM instead of a copy of it in SBUF.
//
// Known (statement names in the four public attention traces, neuronx-cc 2.23): copies that only
// Vector and Scalar instructions read are gone, 8 of 8; those that a product or a transfer reads
// stay, 36 of 36. That a copy stays when its tile would fill PSUM is assumed: the traces keep four
// tiles alive.
//
// Copies that round (`elide_rounding_copies`) are gone too in the compiled program of a convolution
// on generation 2 (ewang675/asst4-trainium at 16517553, part2/file_pool_1_float16.neff): its kernel
// adds `nl.copy(res_psum, dtype=float16)` to a sum in SBUF, and the 1,998 additions of DVE.bin read
// a float16 operand in SBUF and a float32 one in PSUM, with no copy of PSUM on any engine. That
// bfloat16 and generation 3 do the same is assumed: no such copy is in a public program.

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/pass_settings.h"

namespace neuron_sim {

/// Removes tensor_copy statements from PSUM to SBUF with equal dtypes, or from float32 to float16
/// or bfloat16 with `elide_rounding_copies`, when all readers of all their instances can read PSUM
/// instead (by their own checks), nothing writes the PSUM tile after the copy, and the program
/// order then never keeps more PSUM tiles alive than there are banks. Readers of a copy that
/// rounded get the unrounded elements.
void elide_psum_copies(StraightLine& line, const PassSettings& settings);

}  // namespace neuron_sim
