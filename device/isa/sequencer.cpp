#include "device/isa/sequencer.h"

#include "device/base/errors.h"
#include "device/isa/checks.h"

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

void write_register(const Instance& instance, int64_t register_index, int64_t value) {
  require(instance.registers != nullptr, "a register instruction needs a register file");
  instance.registers->values.at(static_cast<size_t>(register_index)) = value;
}

}  // namespace neuron_sim
