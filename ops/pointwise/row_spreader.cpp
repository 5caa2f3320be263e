#include "ops/pointwise/row_spreader.h"

#include <algorithm>

#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {}  // namespace

RowSpreader::RowSpreader(Builder& builder, Dtype dtype, int64_t columns, bool spreads, int ring)
    : builder_(builder) {
  const Limits& limits = builder.limits();
  ones_ = builder.sbuf("ones", {1, limits.partitions}, dtype);
  builder.emit(Memset{.dst = ones_, .value = 1});
  rows_ = builder.sbuf("row", {1, columns}, dtype, kDoubleBuffer);
  if (!spreads) return;
  psum_ = builder.psum("spread_row", {limits.partitions, product_columns(limits)}, Dtype::kFloat32,
                       ring);
}

bool RowSpreader::takes_dtype(Dtype dtype) {
  return dtype == Dtype::kFloat32 || dtype == Dtype::kFloat16 || dtype == Dtype::kBfloat16;
}

int64_t RowSpreader::bytes(Dtype dtype, int64_t columns) {
  return kDoubleBuffer * columns * itemsize(dtype);
}

void RowSpreader::load(const View& row, const Affine& turn) {
  row_ = rows_.turn(turn).slice(1, 0, row.free_elements());
  neuron_sim::load(builder_, row_, row, EngineKind::kScalar);
}

void RowSpreader::multiply(const View& psum, const Affine& column, bool accumulate) const {
  builder_.emit(NcMatmul{.dst = psum,
                         .stationary = ones_.slice(1, 0, psum.partitions()),
                         .moving = row_.slice(1, column, psum.free_elements()),
                         .accumulate = accumulate,
                         .is_stationary_onezero = true});
}

void RowSpreader::spread(const View& tile) const {
  const int64_t step = psum_.size(1), columns = tile.size(1);
  for (int64_t column = 0, i = 0; column < columns; column += step, ++i) {
    const int64_t count = std::min(step, columns - column);
    const View bank = psum_.turn(i).slice(0, 0, tile.partitions()).slice(1, 0, count);
    multiply(bank, column, false);
    builder_.emit(TensorCopy{
        .dst = tile.slice(1, column, count), .src = bank, .engine = EngineKind::kScalar});
  }
}

void RowSpreader::add(const View& psum, const Affine& column) const {
  multiply(psum, column, true);
}

}  // namespace neuron_sim
