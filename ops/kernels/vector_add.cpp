#include "ops/kernels/vector_add.h"

#include <algorithm>

#include "device/base/errors.h"
#include "ops/collapse.h"
#include "ops/kernels/add_tiles.h"
#include "ops/operand_checks.h"
#include "ops/tiles.h"

namespace neuron_sim {
namespace {

constexpr int kStreamRing = 3;
constexpr int kTiledRing = 8;

void check_operands(const TensorSpec& a, const TensorSpec& b) {
  check_same_dtype("vector_add", "a", a, "b", b);
  if (a.shape != b.shape) {
    fail(text("vector_add: ", describe("a", a), " and ", describe("b", b),
              " have different shapes."));
  }
  switch (a.dtype) {
    case Dtype::kFloat32:
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
    case Dtype::kInt32:
    case Dtype::kInt16:
    case Dtype::kInt8:
    case Dtype::kUint8: return;
    default:
      fail(text("vector_add: ", describe("a", a),
                " has a dtype other than float32, float16, bfloat16, int32, int16, int8 and "
                "uint8."),
           ErrorKind::kType);
  }
}

/// HBM vectors of the collapsed tensors.
struct Operands {
  View a, b, out;
  int64_t elements() const { return out.size(0); }
  /// [rows, columns] from element `first`.
  Operands piece(const Affine& first, int64_t rows, int64_t columns) const {
    const auto cut = [&](const View& vector) {
      return vector.slice(0, first, rows * columns).split(0, rows, columns);
    };
    return {cut(a), cut(b), cut(out)};
  }
};

void add(AddTiles& tiles, const Operands& piece, const Affine& turn) {
  tiles.add(piece.a, piece.b, piece.out, turn);
}

void emit_naive(Builder& builder, const Operands& operands) {
  AddTiles tiles(builder, operands.out.dtype(), operands.elements(), 1, 1);
  add(tiles, operands.piece(0, operands.elements(), 1), 0);
}

void emit_tiled(Builder& builder, const Operands& operands, int64_t row_chunk) {
  if (row_chunk < 1) fail(text("vector_add: row_chunk ", row_chunk, " must be at least 1."));
  AddTiles tiles(builder, operands.out.dtype(), row_chunk, 1, kTiledRing);
  for_tiles(builder, operands.elements(), row_chunk,
            [&](const Affine& first, int64_t rows, const Affine& index) {
              add(tiles, operands.piece(first, rows, 1), index);
            });
}

void emit_stream(Builder& builder, const Operands& operands, int64_t free_dim) {
  const int64_t partitions = builder.limits().partitions;
  const int64_t tile = partitions * free_dim;
  AddTiles tiles(builder, operands.out.dtype(), partitions, free_dim, kStreamRing);
  const int64_t full = operands.elements() / tile, rest = operands.elements() % tile;
  // Remainders first: their short transfers hide behind the first full tiles.
  const int64_t columns = rest / partitions, last = rest % partitions;
  const int64_t base = full * tile;
  if (columns > 0) add(tiles, operands.piece(base, partitions, columns), full);
  if (last > 0 && last <= free_dim) {
    add(tiles, operands.piece(base + columns * partitions, 1, last), full + 1);
  } else if (last > 0) {
    add(tiles, operands.piece(base + columns * partitions, last, 1), full + 1);
  }
  builder.loop(full, [&](const Affine& index) {
    add(tiles, operands.piece(index * tile, partitions, free_dim), index);
  });
}

void emit_variant(Builder& builder, const Operands& operands, const VectorAddOptions& options) {
  const bool flat = operands.out.rank() == 1;
  const int64_t elements = operands.out.partitions() * operands.out.free_elements();
  if (options.free_dim < 0) {
    fail(text("vector_add: free_dim ", options.free_dim, " must not be negative."));
  }
  const int64_t free_dim = options.free_dim > 0
                               ? options.free_dim
                               : choose_free_dim(builder.limits(), elements, operands.out.dtype());
  if (options.variant == VectorAddVariant::kStream) {
    if (flat) return emit_stream(builder, operands, free_dim);
    return emit_strided_add(builder, operands.a, operands.b, operands.out, free_dim);
  }
  if (!flat) {
    fail(
        "vector_add: variants naive and tiled add vectors; these operands are not contiguous and "
        "do not flatten into one dimension. Use variant stream.");
  }
  if (options.variant == VectorAddVariant::kNaive) return emit_naive(builder, operands);
  emit_tiled(builder, operands, options.row_chunk);
}

}  // namespace

int64_t choose_free_dim(const Limits& limits, int64_t elements, Dtype dtype) {
  // Three rings of three tiles, and the int32 tiles of narrow integers, in half of SBUF; 4 KiB per
  // partition and tile keep the DMA engines busy (simulated: 2 KiB 10 % slower, 8 KiB 2 %).
  const int64_t bytes = 3 * kStreamRing * itemsize(dtype) + 2 * itemsize(Dtype::kInt32);
  const int64_t most =
      std::min(limits.sbuf_usable.count / 2 / bytes, int64_t{4096} / itemsize(dtype));
  const int64_t per_partition = std::max<int64_t>(1, elements / limits.partitions);
  const int64_t tiles = ceiling(per_partition, most);
  return ceiling(per_partition, tiles);
}

BuiltOp build_vector_add(const Architecture& architecture, const TensorSpec& a, const TensorSpec& b,
                         const VectorAddOptions& options) {
  check_operands(a, b);
  BuiltOp built;
  built.output = {a.shape, {}, a.dtype};
  if (a.elements() == 0) return built;
  const auto dimensions =
      collapse(a.shape, {strides_of(a), strides_of(b), strides_of(built.output)});
  const std::vector<int64_t> shape = sizes_of(dimensions);
  Builder builder("vector_add", architecture);
  Operands operands;
  operands.a = builder.argument("a", shape, a.dtype, strides_of(dimensions, 0));
  operands.b = builder.argument("b", shape, a.dtype, strides_of(dimensions, 1));
  operands.out = builder.argument("out", shape, a.dtype);
  emit_variant(builder, operands, options);
  built.program = builder.finish();
  return built;
}

}  // namespace neuron_sim
