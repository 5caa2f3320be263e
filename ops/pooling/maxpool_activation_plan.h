#pragma once
// How the backward pass of max pooling is cut into tiles: plain numbers.

#include <vector>

#include "ops/blocks/window_argmax.h"
#include "ops/pooling/maxpool_activation_backward.h"

namespace neuron_sim {

/// Rows of the result, the windows that touch them and the rows of sums that the windows read.
struct PoolBand {
  int64_t row = 0, rows = 0;
  int64_t window = 0, windows = 0;
  int64_t first = 0, count = 0;
};

struct MaxpoolPlan {
  Activation activation = Activation::kIdentity;
  PoolWindows pool;
  std::array<int64_t, 2> outputs{}, inputs{};  ///< rows and columns of gradient and sums
  Dtype dtype = Dtype::kFloat32, sums_dtype = Dtype::kFloat32;
  int64_t group = 1;  ///< planes that a partition holds
  int ring = 2;
  std::vector<PoolBand> bands;

  bool pools() const { return pool.elements() * pool.stride[0] * pool.stride[1] > 1; }
  bool activates() const { return activation != Activation::kIdentity; }
  bool widens() const { return sums_dtype != Dtype::kFloat32; }
  /// Whether the maxima of sums and values coincide, so that only maxima need a derivative.
  bool monotone() const;
  /// Whether the derivative is applied to windows, before they are distributed, or to sums.
  bool derives_windows() const { return pools() && activates() && monotone(); }
  bool derives_sums() const { return activates() && !derives_windows(); }
  /// dtype of the gradients of windows that are distributed, and of the result.
  Dtype window_dtype() const;
  Dtype target_dtype() const;
  /// Whether the result is rounded into a separate tile.
  bool rounds() const { return derives_sums() || target_dtype() != dtype; }
  /// Largest sizes over all bands.
  WindowArgmax::Shape window_shape() const;
  WindowArgmax::Shape sums_shape() const;
  WindowArgmax::Shape result_shape() const;
};

/// Chooses group, ring and bands for `planes` planes; the rest of `plan` is given. KernelError (out
/// of memory) when the smallest tiles exceed SBUF.
void cut_bands(const Architecture& architecture, int64_t planes, MaxpoolPlan& plan);

}  // namespace neuron_sim
