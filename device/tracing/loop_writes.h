#pragma once
// What a write means for the loops that it is in: whether iterations without an order all write the
// same elements, which the older language refuses.

#include <span>

#include "device/tracing/tensor_view.h"

namespace neuron_sim::tracing {

/// When a storage was made and used last, as numbers of uses of tensors in a trace.
struct StorageUses {
  int64_t made_at = 0;
  int64_t last_use = 0;
};

enum class LoopWrite {
  kElsewhere,  ///< each iteration writes other elements, or they have an order: an outer loop
               ///< decides
  kRepeated,   ///< all iterations, without an order, begin with this write
  kFresh,      ///< the body made or used the tensor before, and so did that of every outer loop
};

/// What a write to a view of a storage is in a loop, of which all inner ones are kElsewhere.
/// `is_dynamic`: its address is known only when the kernel runs.
LoopWrite write_in(const Loop& loop, const TensorView& target, bool is_dynamic,
                   const StorageUses& uses);

/// Whether a view has all elements of a tile of some shape.
bool covers_tile(const TensorView& view, std::span<const int64_t> shape);

}  // namespace neuron_sim::tracing
