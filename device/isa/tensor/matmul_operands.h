#pragma once
// Shared by nc_matmul and nc_matmul_mx: placement on the PE array, the PSUM tile, the product.

#include <array>
#include <optional>

#include "device/instruction/float_operand.h"
#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// (rows, columns) of the PE array: tile_position and tile_size of the NKI API.
using RowsColumns = std::array<int64_t, 2>;

/// The attributes that hold a placement, in this order; -1 is "not given".
inline constexpr AttributeField kArrayTileFields[] = {
    {"tile_position_row", AttributeKind::kInteger},
    {"tile_position_column", AttributeKind::kInteger},
    {"tile_size_rows", AttributeKind::kInteger},
    {"tile_size_columns", AttributeKind::kInteger}};

/// Where on the PE array: `tile_position` and `tile_size`, both or neither.
struct Placement {
  std::optional<RowsColumns> position, size;

  /// Reads the four attributes from `first` on.
  static Placement of(const Draft& draft, int first);
  bool given() const { return position.has_value() && size.has_value(); }
  /// The tile of a checked placement; the whole array when it is not given.
  ArrayTile tile() const;
};

/// Writes the four attributes from `first` on.
void place_on_array(Draft& draft, int first, const Placement& placement);

namespace checks {

/// Rows and columns are limits.partitions, or that value halved down to limits.array_tile; the
/// position is a multiple of them within the array. `columns_too`: columns may be tiled.
void array_tile(std::string_view instruction, const Placement& placement, bool columns_too,
                const Architecture& architecture);
/// dst: PSUM, one partition per stationary column (`columns`), within a bank, or within all banks
/// where the architecture's moving operand is longer than one.
void product_room(std::string_view instruction, const View& dst, int64_t columns,
                  const Architecture& architecture);

}  // namespace checks

/// dst = or += stationary.T @ moving over `depth` rows (multiply_tile of as many elements as are
/// contiguous in dst), and for accumulation one fp32 addition per element; a bf16 dst is widened
/// before it and rounded once, to nearest even, after it. `later`: an operand of another product,
/// which is brought towards the processor; null: none.
void multiply_operands(const Access& dst, const FloatOperand& stationary,
                       const FloatOperand& moving, int64_t depth, bool accumulate,
                       const Access* later = nullptr);

}  // namespace neuron_sim
