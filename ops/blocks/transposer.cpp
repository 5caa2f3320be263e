#include "ops/blocks/transposer.h"

#include <algorithm>

#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {

Transposer::Transposer(Builder& builder, Dtype dtype, int ring, EngineKind engine)
    : builder_(builder) {
  const Limits& limits = builder.limits();
  const bool exact = builder.architecture().features.exact_transpose;
  const bool by_tensor = engine == EngineKind::kAuto ? exact : engine == EngineKind::kTensor;
  // The transpose by multiplication has the dtype of products; the exact one writes 1-byte elements
  // as 16-bit ones: every other byte.
  const Dtype result = by_tensor && !exact ? Dtype::kFloat32 : dtype;
  const int64_t step = by_tensor && itemsize(result) == 1 ? 2 : 1;
  group_ = limits.psum_bank.count / (limits.partitions * itemsize(result) * step);
  if (!by_tensor) return;
  if (!exact) copy_engine_ = EngineKind::kScalar;
  const View bank = builder.psum("transposed", {limits.partitions, group_, limits.partitions, step},
                                 result, ring);
  psum_ = bank.select(3, 0);
}

void Transposer::transpose(const View& dst, const std::function<View(int64_t)>& source,
                           const Affine& turn, EngineKind copy_engine) {
  const int64_t count = dst.size(1);
  if (!psum_.present()) {
    for (int64_t j = 0; j < count; ++j) by_vector(dst.select(1, j), source(j));
    return;
  }
  const View bank =
      psum_.turn(turn).slice(0, 0, dst.partitions()).slice(1, 0, count).slice(2, 0, dst.size(2));
  for (int64_t j = 0; j < count; ++j) {
    builder_.emit(NcTranspose{bank.select(1, j), source(j), EngineKind::kTensor});
  }
  builder_.emit(
      TensorCopy{dst, bank, copy_engine == EngineKind::kAuto ? copy_engine_ : copy_engine});
}

void Transposer::by_vector(const View& dst, const View& source) {
  const int64_t edge = builder_.limits().vector_transpose;
  const int64_t rows = source.partitions(), columns = source.size(1);
  for (int64_t row = 0; row < rows; row += edge) {
    const int64_t height = std::min(edge, rows - row);
    for (int64_t column = 0; column < columns; column += edge) {
      const int64_t width = std::min(edge, columns - column);
      builder_.emit(NcTranspose{dst.slice(0, column, width).slice(1, row, height),
                                source.slice(0, row, height).slice(1, column, width),
                                EngineKind::kVector});
    }
  }
}

}  // namespace neuron_sim
