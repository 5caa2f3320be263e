#pragma once
// Rows that are read soon, brought towards the processor meanwhile.

#include <cstdint>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// Rows of floats, `pitch` floats apart.
struct LaterRows {
  const float* data = nullptr;  ///< null: none
  int64_t pitch = 0;
  int64_t length = 0;
  int64_t rows = 0;
};

/// The first run of each partition of an operand of 4-byte elements; nothing for null.
LaterRows later_rows(const Access* access);

/// Brings rows to the processor's L2 cache, some with each call of fetch().
class Ahead {
 public:
  /// All rows within `calls` calls.
  Ahead(const LaterRows& rows, int64_t calls);
  void fetch();

 private:
  const float* row_;
  int64_t pitch_, length_, left_, share_;
};

}  // namespace neuron_sim
