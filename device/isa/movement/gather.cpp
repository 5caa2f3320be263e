#include "device/isa/movement/gather.h"

#include <cstring>

#include "device/base/errors.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"

namespace neuron_sim {

void check_gather_index(std::string_view instruction, std::string_view operand, const Access& data,
                        int64_t index, int64_t count, int64_t partition) {
  const int64_t size = data.elements();
  if (index >= 0 && index + count <= size) return;
  fail(text("Out-of-bound access for operand '", operand, "' of '", instruction, "': index ", index,
            count > 1 ? text(" for ", count, " elements") : "", " in partition ", partition,
            " exceed ", size, " elements per partition."),
       ErrorKind::kIndex);
}

void gather_row(const Access& source, int64_t source_partition, std::span<const int64_t> elements,
                const Access& target, int64_t target_partition) {
  const auto size = static_cast<size_t>(itemsize(source.dtype));
  require(itemsize(target.dtype) == itemsize(source.dtype), "gather_row needs equal element sizes");
  std::vector<std::byte>& dense = row_scratch().bytes;
  if (dense.size() < elements.size() * size) dense.resize(elements.size() * size);
  const Pattern from = free_pattern(source);
  const std::byte* data = source.partition(source_partition);
  for (size_t i = 0; i < elements.size(); ++i) {
    std::memcpy(dense.data() + i * size, data + from.element_offset(elements[i]), size);
  }
  const Pattern to = free_pattern(target);
  std::byte* results = target.partition(target_partition);
  for (size_t i = 0; i < elements.size(); ++i) {
    std::memcpy(results + to.element_offset(static_cast<int64_t>(i)), dense.data() + i * size,
                size);
  }
}

}  // namespace neuron_sim
