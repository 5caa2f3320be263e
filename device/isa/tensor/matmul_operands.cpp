#include "device/isa/tensor/matmul_operands.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/rows.h"
#include "device/isa/tensor/tile_multiply.h"

namespace neuron_sim {
namespace {

constexpr int64_t kFloat = sizeof(float);

std::optional<RowsColumns> pair_of(const Draft& draft, int first) {
  const RowsColumns pair{draft.attribute(first).integer(), draft.attribute(first + 1).integer()};
  if (pair[0] < 0 && pair[1] < 0) return std::nullopt;
  return pair;
}

std::string describe(const RowsColumns& pair) { return text("(", pair[0], ", ", pair[1], ")"); }

/// Whether `length` elements of the product after the other go straight to dst.
bool fits_in_place(const Pattern& dst, int64_t length, const Access& access) {
  return access.dtype == Dtype::kFloat32 && dst.stride == kFloat && dst.length % length == 0 &&
         access.partition_stride % kFloat == 0 &&
         (access.partitions == 1 || access.partition_stride >= length * kFloat);
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
                       const FloatOperand& moving, int64_t depth, bool accumulate,
                       const Access* later) {
  std::vector<float>& result = row_scratch().result;
  const Pattern pattern = free_pattern(dst);
  const int64_t elements = moving.pattern.elements();
  // The elements that are contiguous in dst where the product goes straight to it: runs of moving.
  const bool turned = moving.turned.data != nullptr;
  const int64_t length = pattern.length % elements == 0 ? elements : moving.pattern.length;
  const bool in_place = fits_in_place(pattern, length, dst);
  TileProduct product{dst.partitions,
                      in_place ? length : elements,
                      depth,
                      stationary.data,
                      stationary.pitch,
                      nullptr,
                      moving.pitch,
                      nullptr,
                      elements,
                      accumulate,
                      stationary.bf16 && moving.bf16};
  if (product.elements > moving.pattern.length) product.runs = &moving.pattern;
  product.later = later_rows(later);
  if (turned) product.turned = &moving.turned;
  if (in_place) {
    product.target_pitch = std::max<int64_t>(dst.partition_stride / kFloat, length);
  } else {
    result.resize(static_cast<size_t>(dst.partitions * elements));
    if (accumulate) read_sums(dst, result.data());
  }
  for (int64_t first = 0; first < elements; first += product.elements) {
    product.moving = moving.data;
    if (product.runs == nullptr && !turned) product.moving += moving.pattern.element_offset(first);
    product.target = in_place ? reinterpret_cast<float*>(dst.data + pattern.element_offset(first))
                              : result.data();
    multiply_tile(product);
    product.later = {};
  }
  for (int64_t m = 0; m < dst.partitions && !in_place; ++m) {
    write_row(dst, m, result.data() + m * elements);
  }
}

}  // namespace neuron_sim
