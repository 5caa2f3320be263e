#pragma once
// Operands as Python passes them: a tile, a number, or None.

#include <nanobind/nanobind.h>

#include "device/operand/view.h"

namespace neuron_sim {

/// An optional operand; None is absent.
inline View view_or_absent(const View* view) { return view == nullptr ? View{} : *view; }

/// A tile goes to `tile`, a number (whatever has __float__) to `constant`, None to neither.
/// KernelError(kType) for anything else, with the name of the parameter.
void set_operand(const char* parameter, const nanobind::handle& value, View& tile,
                 double& constant);

}  // namespace neuron_sim
