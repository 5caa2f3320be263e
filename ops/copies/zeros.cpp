#include "ops/copies/zeros.h"

#include <algorithm>

#include "device/isa/movement/memset.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

constexpr int64_t kZeroColumns = 2048;

}  // namespace

void emit_zeros(Builder& builder, const View& out) {
  const int64_t partitions = builder.limits().partitions;
  const int64_t width = std::min(out.size(1), kZeroColumns);
  const View zeros = builder.sbuf("zeros", {partitions, width}, out.dtype());
  builder.emit(Memset{.dst = zeros});
  for_tiles(builder, out.size(0), partitions, [&](const Affine& row, int64_t rows, const Affine&) {
    for_tiles(builder, out.size(1), width,
              [&](const Affine& column, int64_t columns, const Affine&) {
                store(builder, out.slice(0, row, rows).slice(1, column, columns),
                      zeros.slice(0, 0, rows).slice(1, 0, columns));
              });
  });
}

}  // namespace neuron_sim
