#include "device/isa/tensor/later_rows.h"

#include <algorithm>

#include "device/instruction/pattern.h"
#include "device/isa/tensor/line_buffer.h"

namespace neuron_sim {

LaterRows later_rows(const Access* access) {
  constexpr int64_t kFloat = sizeof(float);
  if (access == nullptr) return {};
  const Pattern pattern = free_pattern(*access);
  return {reinterpret_cast<const float*>(access->data), access->partition_stride / kFloat,
          pattern.stride == kFloat ? pattern.length : 1, access->partitions};
}

Ahead::Ahead(const LaterRows& rows, int64_t calls)
    : row_(rows.data),
      pitch_(rows.pitch),
      length_(rows.length),
      left_(rows.data == nullptr ? 0 : rows.rows),
      share_((rows.rows + calls - 1) / calls) {}

void Ahead::fetch() {
  const int64_t rows = std::min(share_, left_);
  for (int64_t i = 0; i < rows; ++i, row_ += pitch_) {
    for (int64_t line = 0; line < length_; line += kLineFloats) {
      __builtin_prefetch(row_ + line, 0, 2);
    }
  }
  left_ -= rows;
}

}  // namespace neuron_sim
