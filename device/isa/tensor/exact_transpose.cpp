#include "device/isa/tensor/exact_transpose.h"

#include <cstring>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/element_copy.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

bool in_every_other_byte(const View& dst) {
  for (int i = 1; i < dst.rank(); ++i) {
    if (dst.size(i) > 1 && dst.dimension(i).stride % 2 != 0) return false;
  }
  return true;
}

}  // namespace

void move_row_to_column(const Access& source, int64_t row, const Access& dst, int64_t column) {
  const SourceRegion from{source.partition(row),
                          {source.free.data(), static_cast<size_t>(source.rank)}};
  std::byte* target = dst.data + free_pattern(dst).element_offset(column);
  const Dimension rows{dst.partitions, dst.partition_stride};
  const int item = itemsize(source.dtype);
  if (item == itemsize(dst.dtype)) return copy_elements(from, {target, {&rows, 1}}, item);
  std::vector<std::byte>& bytes = row_scratch().bytes;
  bytes.resize(static_cast<size_t>(dst.partitions));
  const Dimension dense{dst.partitions, 1};
  copy_elements(from, {bytes.data(), {&dense, 1}}, item);
  for (int64_t m = 0; m < dst.partitions; ++m) {
    const auto padded = static_cast<uint16_t>(bytes[static_cast<size_t>(m)]);
    std::memcpy(target + m * dst.partition_stride, &padded, sizeof padded);
  }
}

void checks::exact_transpose_dst(std::string_view instruction, std::string_view source_name,
                                 const View& source, const View& dst, std::string_view reason) {
  const bool narrow = itemsize(source.dtype()) == 1;
  if (narrow && itemsize(dst.dtype()) == 2 && !is_packed(dst.dtype())) return;
  if (dst.dtype() != source.dtype()) {
    dtype_error(instruction, "dst", dst,
                text(name(source.dtype()), ", the dtype of '", source_name, "'",
                     narrow ? " in every other byte, or a 2-byte dtype" : "", reason));
  }
  if (narrow && !in_every_other_byte(dst)) {
    fail(text("operand 'dst' of '", instruction, "' is ", dst.describe(), " of ", name(dst.dtype()),
              ", but PSUM receives 16-bit elements with a zero upper byte; ",
              "use a 2-byte dtype or every other byte."));
  }
}

}  // namespace neuron_sim
