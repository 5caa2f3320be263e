#include "device/isa/tensor/microscaling.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"

namespace neuron_sim::checks {

void scale_tile(std::string_view instruction, std::string_view operand, const View& scale,
                std::string_view data_name, int64_t partitions, int64_t columns) {
  memory(instruction, operand, scale, {MemoryKind::kSbuf});
  if (scale.dtype() != Dtype::kUint8 && scale.dtype() != Dtype::kFloat8E8m0fnu) {
    dtype_error(instruction, operand, scale, "float8_e8m0fnu or uint8");
  }
  const int64_t least = scale_row(partitions - 1) + 1;
  if (scale.partitions() < least || scale.partitions() > partitions) {
    fail(text("operand '", operand, "' of '", instruction, "' is ", scale.describe(),
              ", but the scales of the ", partitions, " partitions of '", data_name, "' take ",
              least, " to ", partitions, " partitions, 4 rows at the start of every 32."));
  }
  if (scale.free_elements() != columns) {
    fail(text("operand '", operand, "' of '", instruction, "' is ", scale.describe(),
              ", but operand '", data_name, "' has ", columns,
              " groups of four values per partition."));
  }
  const Affine& start = scale.partition();
  if (start.is_constant() && start.constant() % (kQuadrantPartitions / kGroupPartitions) != 0) {
    fail(text("operand '", operand, "' of '", instruction, "' starts at partition ",
              start.constant(), ", which is no multiple of 4."));
  }
}

void whole_quadrants(std::string_view instruction, std::string_view operand, const View& view,
                     const Architecture& architecture) {
  partitions(instruction, operand, view, architecture);
  if (view.partitions() % kQuadrantPartitions == 0) return;
  fail(text("number of partitions ", view.partitions(), " of operand '", operand, "' of '",
            instruction, "' must be a multiple of ", kQuadrantPartitions, "."));
}

}  // namespace neuron_sim::checks
