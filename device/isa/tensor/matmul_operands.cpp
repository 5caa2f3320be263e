#include "device/isa/tensor/matmul_operands.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/rows.h"
#include "device/isa/tensor/tile_multiply.h"

namespace neuron_sim {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kVectors = 64;  // columns that every product kernel computes without a rest

std::optional<RowsColumns> pair_of(const Draft& draft, int first) {
  const RowsColumns pair{draft.attribute(first).integer(), draft.attribute(first + 1).integer()};
  if (pair[0] < 0 && pair[1] < 0) return std::nullopt;
  return pair;
}

std::string describe(const RowsColumns& pair) { return text("(", pair[0], ", ", pair[1], ")"); }

/// The product goes straight to dst when every run of moving falls into one run of dst.
bool fits_in_place(const Pattern& dst, const Pattern& moving, const Access& access) {
  return access.dtype == Dtype::kFloat32 && dst.stride == kFloat &&
         dst.length % moving.length == 0 && access.partition_stride % kFloat == 0 &&
         (access.partitions == 1 || access.partition_stride >= moving.length * kFloat);
}

/// Joins the runs of `moving`, [K][N], which a product of all of them reads faster: its kernels
/// compute whole vectors of columns.
FloatOperand joined(const FloatOperand& moving, int64_t depth) {
  thread_local std::vector<float> buffer;
  constexpr int64_t kLine = 16;  // floats of a cache line
  const Pattern& pattern = moving.pattern;
  const int64_t runs = pattern.runs(), length = pattern.length, elements = pattern.elements();
  const int64_t pitch = ((elements + kLine - 1) / kLine | 1) * kLine;  // spread over the cache
  if (static_cast<int64_t>(buffer.size()) < depth * pitch) {
    buffer.resize(static_cast<size_t>(depth * pitch));
  }
  for (int64_t r = 0; r < runs; ++r) {
    const float* from = moving.data + pattern.offset(r);
    float* to = buffer.data() + r * length;
    for (int64_t k = 0; k < depth; ++k, from += moving.pitch, to += pitch) {
      std::copy_n(from, length, to);
    }
  }
  FloatOperand whole{buffer.data(), pitch, Pattern{}, moving.bf16};
  whole.pattern.length = elements;
  whole.pattern.stride = 1;
  return whole;
}

/// The sums so far, [M][N], where the product is added to them.
void read_sums(const Access& dst, float* sums) {
  const int64_t elements = dst.elements();
  for (int64_t m = 0; m < dst.partitions; ++m, sums += elements) {
    std::copy_n(read_row(dst, m, row_scratch().third), elements, sums);
  }
}

}  // namespace

Placement Placement::of(const Draft& draft, int first) {
  return {pair_of(draft, first), pair_of(draft, first + 2)};
}

ArrayTile Placement::tile() const {
  if (!given()) return {};
  const auto narrow = [](int64_t value) { return static_cast<int16_t>(value); };
  return {narrow((*position)[0]), narrow((*size)[0]), narrow((*position)[1]), narrow((*size)[1])};
}

void place_on_array(Draft& draft, int first, const Placement& placement) {
  for (int which = 0; which < 4; ++which) {
    const std::optional<RowsColumns>& pair = which < 2 ? placement.position : placement.size;
    const int64_t value = pair ? (*pair)[static_cast<size_t>(which % 2)] : int64_t{-1};
    const size_t place = static_cast<size_t>(first) + static_cast<size_t>(which);
    draft.attributes[place] = Attribute::of(value);
  }
}

namespace checks {

void array_tile(std::string_view instruction, const Placement& placement, bool columns_too,
                const Architecture& architecture) {
  const std::string where =
      text(" (instruction '", instruction, "', architecture ", architecture.name, ")");
  if (placement.position.has_value() != placement.size.has_value()) {
    fail(text("parameters 'tile_position' and 'tile_size' must both be set.", where));
  }
  if (!placement.given()) return;
  const int64_t whole = architecture.limits.partitions;
  const RowsColumns& position = *placement.position;
  const RowsColumns& size = *placement.size;
  for (size_t i = 0; i < 2; ++i) {
    const bool halves = size[i] > 0 && whole % size[i] == 0 && (size[i] & (size[i] - 1)) == 0;
    const int64_t smallest = i == 1 && !columns_too ? whole : architecture.limits.array_tile;
    if (!halves || size[i] < smallest) {
      fail(text("parameter 'tile_size' is ", describe(size), ", but its ",
                i == 0 ? "rows" : "columns", " must be ", whole,
                smallest == whole ? std::string() : text(" or a power of two from ", smallest), ".",
                where));
    }
    if (position[i] < 0 || position[i] % size[i] != 0 || position[i] + size[i] > whole) {
      fail(text("parameter 'tile_position' is ", describe(position), ", but must be a multiple of ",
                "'tile_size' ", describe(size), " within the ", whole, " x ", whole, " array.",
                where));
    }
  }
}

void product_room(std::string_view instruction, const View& dst, int64_t columns,
                  const Architecture& architecture) {
  const Limits& limits = architecture.limits;
  if (dst.partitions() != columns) {
    fail(text("operand 'dst' of '", instruction, "' has ", dst.partitions(),
              " partitions, but operand 'stationary' has ", columns, " elements per partition."));
  }
  const bool one_bank = limits.moving_free * kFloat <= limits.psum_bank.count;
  const int64_t room = limits.psum_bank.count * (one_bank ? 1 : limits.psum_banks);
  const int64_t bytes = dst.free_elements() * itemsize(dst.dtype());
  if (bytes > room) {
    fail(text("operand 'dst' of '", instruction, "' needs ", bytes, " bytes per partition, which ",
              "exceed architecture limitation of ", room, ". (architecture ", architecture.name,
              ")"));
  }
}

}  // namespace checks

void multiply_operands(const Access& dst, const FloatOperand& stationary,
                       const FloatOperand& moving, int64_t depth, bool accumulate) {
  std::vector<float>& result = row_scratch().result;
  const Pattern pattern = free_pattern(dst);
  const bool fills_vectors = moving.pattern.length % kVectors == 0;
  const bool joins = moving.pattern.runs() > 1 && !fills_vectors &&
                     pattern.length % moving.pattern.elements() == 0;
  const FloatOperand stream = joins ? joined(moving, depth) : moving;
  const int64_t elements = stream.pattern.elements();
  const int64_t length = stream.pattern.length;
  const bool in_place = fits_in_place(pattern, stream.pattern, dst);
  TileProduct product{dst.partitions,
                      length,
                      depth,
                      stationary.data,
                      stationary.pitch,
                      nullptr,
                      stream.pitch,
                      nullptr,
                      elements,
                      accumulate,
                      stationary.bf16 && moving.bf16};
  if (in_place) {
    product.target_pitch = std::max<int64_t>(dst.partition_stride / kFloat, length);
  } else {
    result.resize(static_cast<size_t>(dst.partitions * elements));
    if (accumulate) read_sums(dst, result.data());
  }
  const int64_t runs = stream.pattern.runs();
  for (int64_t r = 0; r < runs; ++r) {
    product.moving = stream.data + stream.pattern.offset(r);
    product.target = in_place
                         ? reinterpret_cast<float*>(dst.data + pattern.element_offset(r * length))
                         : result.data() + r * length;
    multiply_tile(product);
  }
  for (int64_t m = 0; m < dst.partitions && !in_place; ++m) {
    write_row(dst, m, result.data() + m * elements);
  }
}

}  // namespace neuron_sim
