#include "device/isa/sequencing/sequencer.h"

#include <limits>

#include "device/base/errors.h"
#include "device/instruction/checks.h"

namespace neuron_sim {

EngineKind sequencer_engine(const Draft&, const Architecture&) { return EngineKind::kSync; }

Demand sequencer_demand(const Draft&, const Architecture&) {
  Demand demand;
  demand.add({.unit = Unit::kSequencer, .elements = 1});
  return demand;
}

void check_register(std::string_view instruction, EngineKind engine, int64_t register_index,
                    const Architecture& architecture) {
  checks::engine(instruction, engine,
                 {EngineKind::kTensor, EngineKind::kVector, EngineKind::kScalar,
                  EngineKind::kGpSimd, EngineKind::kSync},
                 architecture);
  const int64_t count = architecture.limits.registers;
  if (register_index < 0 || register_index >= count) {
    fail(text("register ", register_index, " of '", instruction, "' does not exist; a sequencer ",
              "of architecture ", architecture.name, " has ", count, " registers."),
         ErrorKind::kIndex);
  }
}

void check_register_value(std::string_view instruction, std::string_view attribute, int64_t value) {
  if (value >= std::numeric_limits<int32_t>::min() &&
      value <= std::numeric_limits<uint32_t>::max()) {
    return;
  }
  fail(text(attribute, " ", value, " of '", instruction,
            "' does not fit into the 32 bits of a register."));
}

void check_register_memory(std::string_view instruction, std::string_view operand,
                           const View& view) {
  checks::memory(instruction, operand, view, {MemoryKind::kHbm, MemoryKind::kSbuf});
  if (view.partitions() != 1 || view.free_elements() != 1) {
    fail(text("operand '", operand, "' of '", instruction, "' is ", view.describe(),
              ", but must have one element."));
  }
  if (view.dtype() != Dtype::kInt32 && view.dtype() != Dtype::kUint32) {
    checks::dtype_error(instruction, operand, view, "int32 or uint32");
  }
}

int64_t read_register_memory(const Access& access) {
  int64_t value = 0;
  load_integers(access.partition(0), access.dtype, 0, &value, 1);
  return value;
}

int64_t read_register(const Instance& instance, int64_t register_index) {
  require(instance.registers != nullptr, "a register instruction needs a register file");
  return instance.registers->values.at(static_cast<size_t>(register_index));
}

void write_register(const Instance& instance, int64_t register_index, int64_t value) {
  require(instance.registers != nullptr, "a register instruction needs a register file");
  instance.registers->values.at(static_cast<size_t>(register_index)) = value;
}

}  // namespace neuron_sim
