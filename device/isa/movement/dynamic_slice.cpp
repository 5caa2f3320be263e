#include "device/isa/movement/dynamic_slice.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"

namespace neuron_sim {

Access dynamic_slice(std::string_view region_name, const Access& region, const Access& offset,
                     const Access& like) {
  int64_t start = 0;
  load_integers(offset.partition(0), offset.dtype, 0, &start, 1);
  const int64_t size = like.free[0].size;
  if (start < 0 || start + size > region.free[0].size) {
    fail(text("Out-of-bound access for tensor `", region_name, "` on dimension 1: index range [",
              start, ", ", start + size - 1, "] exceed dimension size of ", region.free[0].size),
         ErrorKind::kIndex);
  }
  Access slice = region;
  slice.data += start * region.free[0].stride;
  slice.free[0].size = size;
  slice.widened = nullptr;  // of the whole region
  return slice;
}

namespace checks {

void dynamic_slice(std::string_view instruction, std::string_view region_name, const View& region,
                   std::string_view fixed_name, const View& fixed, const View& offset,
                   EngineKind engine, const Architecture& architecture) {
  compute_operand(instruction, region_name, region, engine, architecture);
  compute_operand(instruction, fixed_name, fixed, engine, architecture);
  same_partitions(instruction, region_name, region, fixed_name, fixed);
  bool fits = region.rank() == fixed.rank() && region.rank() >= 2;
  for (int i = 2; fits && i < region.rank(); ++i) fits = region.size(i) == fixed.size(i);
  if (!fits || fixed.size(1) > region.size(1)) {
    fail(text("operand '", fixed_name, "' of '", instruction, "' (", fixed.describe(),
              ") must be a slice of operand '", region_name, "' (", region.describe(),
              ") in its first free dimension."));
  }
  memory(instruction, "offset", offset, {MemoryKind::kSbuf});
  start_partition(instruction, "offset", offset, architecture);
  if (offset.partitions() != 1 || offset.free_elements() != 1) {
    fail(text("operand 'offset' of '", instruction, "' is ", offset.describe(),
              ", but must have one element."));
  }
  if (!elementwise::is_32bit_integer(offset.dtype())) {
    dtype_error(instruction, "offset", offset, "int32 or uint32");
  }
}

}  // namespace checks

Demand dynamic_copy_demand(EngineKind engine, const View& source, const View& target,
                           const View& fixed) {
  const RateClass rate =
      engine == EngineKind::kGpSimd ? RateClass::kGpSimdOneInput : RateClass::kOneInput;
  Demand result = elementwise::demand(rate, source, {&source, &target});
  result.steps[0].elements = fixed.free_elements();
  result.steps[0].dynamic_address = true;
  return result;
}

}  // namespace neuron_sim
