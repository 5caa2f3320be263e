#pragma once

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst = src where predicate is not zero, else dst stays, element by element, on Vector;
/// reverse_pred exchanges the two. [P, F] tiles in SBUF or PSUM with equal partitions and elements
/// per partition, src and predicate not both in PSUM; src is a tile of dst's dtype, whose bits are
/// copied, or the constant when its view is absent (rounded to dst; an integer dst must be able to
/// hold it). predicate is uint8, uint16 or uint32 (isa.json tensor_copy_predicated).
struct TensorCopyPredicated {
  View dst;
  View src{};  ///< absent: constant
  View predicate{};
  double constant = 0;
  bool reverse_pred = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector
  Draft draft() const;
};
extern const InstructionType kTensorCopyPredicated;

}  // namespace neuron_sim
