#include "device/isa/sequencing/register_load.h"

#include "device/isa/sequencing/sequencer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "register_load";
using enum RegisterLoad::OperandIndex;
using enum RegisterLoad::AttributeIndex;
constexpr auto kOperands = operand_table<RegisterLoad>();
constexpr auto kAttributes = attribute_table<RegisterLoad>();

void check(const Draft& draft, const Architecture& architecture) {
  check_register(kName, draft.engine, draft.attribute(kDst).integer(), architecture);
  check_register_memory(kName, "src", draft.operand(kSrc));
}

void run(const Instance& instance) {
  write_register(instance, instance.attribute(kDst).integer(),
                 read_register_memory(instance.operand(kSrc)));
}

}  // namespace

Draft RegisterLoad::draft() const { return draft_of(kRegisterLoad, *this); }

const InstructionType kRegisterLoad = {kName, kOperands, kAttributes,     sequencer_engine,
                                       check, run,       sequencer_demand};

}  // namespace neuron_sim
