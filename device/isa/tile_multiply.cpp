#include "device/isa/tile_multiply.h"

#include <dnnl.h>

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {

void multiply_tile(const TileProduct& product) {
  if (product.columns == 0 || product.elements == 0) return;
  if (product.depth == 0) {  // oneDNN leaves C alone; an empty sum is 0
    for (int64_t i = 0; i < product.columns && !product.accumulate; ++i) {
      std::fill_n(product.target + i * product.target_pitch, product.elements, 0.0F);
    }
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm('T', 'N', product.columns, product.elements, product.depth, 1.0F,
                 product.stationary, product.stationary_pitch, product.moving, product.moving_pitch,
                 product.accumulate ? 1.0F : 0.0F, product.target, product.target_pitch);
  require(status == dnnl_success, "dnnl_sgemm rejected its arguments");
}

}  // namespace neuron_sim
