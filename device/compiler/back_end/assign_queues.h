#pragma once
// assign_queues: which engine triggers a transfer, and who makes its descriptors.
//
// Known (38 of 38 transfers of the four public attention traces, neuronx-cc 2.23): tensors that the
// kernel gets or returns go through GpSimd with software descriptors; constants and intermediate
// tensors in HBM through hardware descriptors, loads on Sync, stores of intermediates on Scalar.
// Static descriptors (all transfers of the compiled programs, .neff, that three kernels on
// generation 2 and three on generation 3 with --disable-dge are published with, neuronx-cc about
// 2.15 to 2.21: ewang675/asst4-trainium at 16517553, sahiljain01/asst4-trainium at bc167552,
// waahm7/asst4-trainium at 50f26140, ichuniq/asst4-trainium at ba2c5b17,
// chengli2003/asst4-trainium2 at a57e57b1, riya-ranjan/cs149-pa4 at fe847235): loads on Sync, also
// those of constants, of spilled tiles and of intermediate tensors; stores of results on GpSimd,
// whatever else is idle. Not modelled: intermediate tensors and spilled tiles are stored by the
// engine that computes them (3,148 copies on Scalar, as many stores on it, and 848 on Vector, in
// conv2d_3_float16.neff of chengli2003), and these stores, their loads and the loads of
// constants use a separate queue of each engine (qSPSpillReload0 beside qSPIO0).

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/pass_settings.h"

namespace neuron_sim {

/// Moves the triggers of transfers between HBM and the chip. With `disable_dge`, or on an
/// architecture without hardware descriptors, all descriptors are static.
/// A transfer stays where it is when its kernel names the engine (documented: `engine` of
/// nki.isa.dma_copy) or chose descriptors, and when the new place cannot make its descriptors.
void assign_queues(StraightLine& line, const PassSettings& settings);

}  // namespace neuron_sim
