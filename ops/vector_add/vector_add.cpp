#include "ops/vector_add/vector_add.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "device/base/errors.h"
#include "ops/blocks/collapse.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"
#include "ops/vector_add/add_tiles.h"

namespace neuron_sim {
namespace {

constexpr int kStreamRing = 3;
constexpr int kTiledRing = 8;

constexpr std::pair<VectorAddVariant, std::string_view> kVariants[] = {
    {VectorAddVariant::kNaive, "naive"},          {VectorAddVariant::kTiled, "tiled"},
    {VectorAddVariant::kStream, "stream"},        {VectorAddVariant::kDirect, "direct"},
    {VectorAddVariant::kDirectBad, "direct_bad"},
};

std::string_view name(VectorAddVariant variant) {
  for (const auto& [known, name] : kVariants) {
    if (known == variant) return name;
  }
  throw SimulatorBug("a variant of vector_add has no name");
}

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

/// Tiles of [128, free_dim] through the rings of `tiles`.
void emit_stream(Builder& builder, const Operands& operands, int64_t free_dim, AddTiles& tiles) {
  const int64_t partitions = builder.limits().partitions;
  const int64_t tile = partitions * free_dim;
  const int64_t full = operands.elements() / tile, rest = operands.elements() % tile;
  // Remainders first: their short transfers overlap with the first full tiles.
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

constexpr std::array<const char*, 3> kTensors = {"a", "b", "the sum"};

/// Where the tiles of a, b and the sum begin. `bytes`: of a tile, per partition.
std::array<int64_t, 3> base_addresses(const VectorAddOptions& options, int64_t bytes) {
  const bool bad = options.variant == VectorAddVariant::kDirectBad;
  if (options.base_addresses.empty()) {
    const int64_t apart = bad ? bytes : options.num_free_tiles * bytes;
    return {0, apart, 2 * apart};
  }
  if (bad) {
    fail(
        "vector_add: variant direct_bad has base addresses of its own; give base_addresses to "
        "variant direct.");
  }
  if (options.base_addresses.size() != kTensors.size()) {
    fail(text("vector_add: base_addresses has ", options.base_addresses.size(),
              " values, expected 3 (a, b and the sum)."));
  }
  return {options.base_addresses[0], options.base_addresses[1], options.base_addresses[2]};
}

void check_base_addresses(const Architecture& architecture, const std::array<int64_t, 3>& addresses,
                          int64_t bytes, Dtype dtype) {
  const int64_t capacity = architecture.limits.sbuf_usable.count;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] >= capacity) {
      fail(text("vector_add: base address ", addresses[i], " of ", kTensors[i], " exceeds the ",
                capacity, " bytes per partition of ", architecture.name, "."));
    }
    if (addresses[i] < 0 || addresses[i] % itemsize(dtype) != 0) {
      fail(text("vector_add: base address ", addresses[i], " of ", kTensors[i],
                " is not a multiple of the ", itemsize(dtype), " bytes of ", name(dtype), "."));
    }
    for (size_t j = 0; j < i; ++j) {
      if (std::abs(addresses[i] - addresses[j]) >= bytes) continue;
      fail(text("vector_add: the tiles of ", kTensors[j], " at ", addresses[j], " and of ",
                kTensors[i], " at ", addresses[i], " overlap within a turn: ", kTensors[i],
                " would overwrite ", kTensors[j], " before it is used; base addresses must be ",
                bytes, " bytes (one tile) or more apart."));
    }
  }
}

void emit_direct(Builder& builder, const Operands& operands, int64_t free_dim,
                 const VectorAddOptions& options) {
  const Dtype dtype = operands.out.dtype();
  const int64_t bytes = free_dim * itemsize(dtype);
  const int64_t most = builder.limits().sbuf_usable.count / itemsize(dtype);
  if (free_dim > most) {
    fail(text("vector_add: free_dim ", free_dim, " exceeds the ", most, " elements of ",
              name(dtype), " in an SBUF partition of ", builder.architecture().name, "."));
  }
  if (options.num_free_tiles < 1 || options.num_free_tiles > most) {
    fail(text("vector_add: num_free_tiles ", options.num_free_tiles, " must be between 1 and ",
              most, " (elements of ", name(dtype), " in an SBUF partition of ",
              builder.architecture().name, ")."));
  }
  const std::array<int64_t, 3> addresses = base_addresses(options, bytes);
  if (!options.base_addresses.empty())
    check_base_addresses(builder.architecture(), addresses, bytes, dtype);
  AddTiles tiles(builder, dtype, builder.limits().partitions, free_dim,
                 static_cast<int>(options.num_free_tiles), addresses);
  emit_stream(builder, operands, free_dim, tiles);
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
    if (!flat) {
      return emit_strided_add(builder, operands.a, operands.b, operands.out, free_dim);
    }
    AddTiles tiles(builder, operands.out.dtype(), builder.limits().partitions, free_dim,
                   kStreamRing);
    return emit_stream(builder, operands, free_dim, tiles);
  }
  if (!flat) {
    fail(text("vector_add: variant ", name(options.variant),
              " adds vectors; these operands are not contiguous and do not flatten into one "
              "dimension. Use variant stream."));
  }
  switch (options.variant) {
    case VectorAddVariant::kNaive: return emit_naive(builder, operands);
    case VectorAddVariant::kTiled: return emit_tiled(builder, operands, options.row_chunk);
    default: return emit_direct(builder, operands, free_dim, options);
  }
}

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const VectorAddOptions& /*options*/) {
  check_operands(operands[0], operands[1]);
  return {{operands[0].shape, {}, operands[0].dtype}};
}

void emit_vector_add(Builder& builder, HbmTensors operands, HbmTensors results,
                     const VectorAddOptions& options) {
  const HbmTensor &a = operands[0], &b = operands[1], &out = results[0];
  const auto dimensions = collapse(out.shape, {a.strides, b.strides, out.strides});
  const auto collapsed = [&](const HbmTensor& tensor, size_t index) {
    return tensor.view(sizes_of(dimensions), strides_of(dimensions, index));
  };
  emit_variant(builder, {collapsed(a, 0), collapsed(b, 1), collapsed(out, 2)}, options);
}

}  // namespace

VectorAddVariant parse_vector_add_variant(std::string_view name) {
  for (const auto& [variant, known] : kVariants) {
    if (known == name) return variant;
  }
  fail(text("vector_add: variant '", name,
            "' is unknown; the variants are naive, tiled, stream, direct and direct_bad."));
}

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

const KernelDefinition<VectorAddOptions> kVectorAdd{"vector_add", "a b -> out", results_of,
                                                    emit_vector_add};
const NamedKernel kVectorAddByName{kVectorAdd};

}  // namespace neuron_sim
