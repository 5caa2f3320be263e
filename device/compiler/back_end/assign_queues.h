#pragma once
// assign_queues: which engine triggers a transfer, and who makes its descriptors.
//
// Known (38 of 38 transfers of the four public attention traces, neuronx-cc 2.23): tensors that the
// kernel gets or returns go through GpSimd with software descriptors; constants and intermediate
// tensors in HBM through hardware descriptors, loads on Sync, stores of intermediates on Scalar.

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/pass_settings.h"

namespace neuron_sim {

/// Moves the triggers of transfers between HBM and the chip. With `disable_dge`, or on an
/// architecture without hardware descriptors, all descriptors are static and their triggers take
/// turns on the engines that compute nothing in this program, loads on one half of them and stores
/// on the other, as both have their own queue with hardware descriptors: a load that waits for a
/// buffer until a store has read it then holds up no further stores. Assumed, no trace shows it.
/// With `choose_copy_engines` Scalar computes if a copy may move there (schedule.h).
/// A transfer stays where it is when its kernel chose descriptors (with `keep_explicit_queues` also
/// an engine), and when the new place cannot make its descriptors.
void assign_queues(StraightLine& line, const PassSettings& settings);

}  // namespace neuron_sim
