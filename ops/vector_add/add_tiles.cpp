#include "ops/vector_add/add_tiles.h"

#include <algorithm>
#include <vector>

#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

bool is_narrow_integer(Dtype dtype) {
  return dtype == Dtype::kInt8 || dtype == Dtype::kInt16 || dtype == Dtype::kUint8;
}

/// The free dimensions of `shape` on a tile that holds only those with a size in `loaded`, the
/// others repeated.
View repeat(View tile, const View& loaded, const View& shape) {
  int64_t left = loaded.free_elements();
  for (int i = 1; i + 1 < loaded.rank(); ++i) {
    left /= loaded.size(i);
    tile = tile.split(i, loaded.size(i), left);
  }
  for (int i = 1; i < loaded.rank(); ++i) {
    if (loaded.size(i) != shape.size(i)) tile = tile.broadcast(i, shape.size(i));
  }
  return tile.flatten();
}

}  // namespace

AddTiles::AddTiles(Builder& builder, Dtype dtype, int64_t partitions, int64_t elements, int ring)
    : builder_(builder) {
  const std::vector<int64_t> shape{partitions, elements};
  a_ = builder.sbuf("a_tile", shape, dtype, ring);
  b_ = builder.sbuf("b_tile", shape, dtype, ring);
  sum_ = builder.sbuf("sum_tile", shape, dtype, ring);
  if (is_narrow_integer(dtype)) wide_ = builder.sbuf("wide_tile", shape, Dtype::kInt32, 2);
}

AddTiles::AddTiles(Builder& builder, Dtype dtype, int64_t partitions, int64_t elements, int ring,
                   const std::array<int64_t, 3>& base_addresses)
    : builder_(builder) {
  const std::vector<int64_t> shape{partitions, elements};
  const auto place = [&](const char* label, Dtype type, int64_t address, int count) {
    return builder.place(MemoryKind::kSbuf, label, shape, type, address, 0, count);
  };
  a_ = place("a_tile", dtype, base_addresses[0], ring);
  b_ = place("b_tile", dtype, base_addresses[1], ring);
  sum_ = place("sum_tile", dtype, base_addresses[2], ring);
  if (!is_narrow_integer(dtype)) return;
  const int64_t last = *std::max_element(base_addresses.begin(), base_addresses.end());
  const int64_t end = last + ring * elements * itemsize(dtype);
  const int64_t step = itemsize(Dtype::kInt32);
  wide_ = place("wide_tile", Dtype::kInt32, ceiling(end, step) * step, 2);
}

View AddTiles::load_operand(const View& ring, const View& hbm, const Affine& turn) {
  View loaded = hbm;
  for (int i = 1; i < hbm.rank(); ++i) {
    if (hbm.dimension(i).stride == 0) loaded = loaded.slice(i, 0, 1);
  }
  const View tile =
      ring.turn(turn).slice(0, 0, hbm.partitions()).slice(1, 0, loaded.free_elements());
  load(builder_, tile, loaded);
  return repeat(tile, loaded, hbm);
}

void AddTiles::add(const View& a, const View& b, const View& out, const Affine& turn) {
  const View left = load_operand(a_, a, turn);
  const View right = load_operand(b_, b, turn);
  const View sum = sum_.turn(turn).slice(0, 0, out.partitions()).slice(1, 0, out.free_elements());
  if (wide_.present()) {
    add_wrapping(sum, left, right, turn);
  } else {
    builder_.emit(TensorTensor{.dst = sum, .data1 = left, .data2 = right, .op = AluOp::kAdd});
  }
  store(builder_, out, sum, EngineKind::kScalar);
}

void AddTiles::add_wrapping(const View& sum, const View& a, const View& b, const Affine& turn) {
  // The engine saturates narrow integers, torch wraps them: the exact sum goes through int32,
  // shifted to be non-negative, masked and shifted back.
  const View wide = wide_.turn(turn).slice(0, 0, sum.partitions()).slice(1, 0, sum.free_elements());
  const int64_t values = int64_t{1} << (8 * itemsize(sum.dtype()));
  const double shift = sum.dtype() == Dtype::kUint8 ? 0 : 0.5 * static_cast<double>(values);
  builder_.emit(TensorTensor{
      .dst = wide, .data1 = a, .data2 = b, .op = AluOp::kAdd, .engine = EngineKind::kVector});
  if (shift > 0) {
    builder_.emit(TensorScalar{.dst = wide,
                               .data = wide,
                               .op0 = AluOp::kAdd,
                               .constant0 = shift,
                               .engine = EngineKind::kVector});
  }
  builder_.emit(TensorScalar{.dst = wide,
                             .data = wide,
                             .op0 = AluOp::kBitwiseAnd,
                             .constant0 = static_cast<double>(values - 1),
                             .engine = EngineKind::kVector});
  builder_.emit(TensorScalar{.dst = sum,
                             .data = wide,
                             .op0 = AluOp::kSubtract,
                             .constant0 = shift,
                             .engine = EngineKind::kVector});
}

}  // namespace neuron_sim
