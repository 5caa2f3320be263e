#include "device/isa/register_move.h"

#include <cstdint>
#include <limits>

#include "device/base/errors.h"
#include "device/isa/sequencer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "register_move";
enum AttributeIndex { kRegister, kImmediate };
constexpr AttributeField kAttributes[] = {{"register", AttributeKind::kInteger},
                                          {"immediate", AttributeKind::kInteger}};

void check(const Draft& draft, const Architecture& architecture) {
  check_register(kName, draft.engine, draft.attribute(kRegister).integer(), architecture);
  const int64_t value = draft.attribute(kImmediate).integer();
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max()) {
    fail(text("immediate ", value,
              " of 'register_move' does not fit into the 32 bits of a register."));
  }
}

void run(const Instance& instance) {
  write_register(instance, instance.attribute(kRegister).integer(),
                 instance.attribute(kImmediate).integer());
}

}  // namespace

Draft RegisterMove::draft() const {
  return make_draft(kRegisterMove, engine, {},
                    {Attribute::of(register_index), Attribute::of(immediate)});
}

const InstructionType kRegisterMove = {kName, {},  kAttributes,     sequencer_engine,
                                       check, run, sequencer_demand};

}  // namespace neuron_sim
