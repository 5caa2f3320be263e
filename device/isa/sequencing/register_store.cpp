#include "device/isa/sequencing/register_store.h"

#include "device/isa/sequencing/sequencer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "register_store";
using enum RegisterStore::OperandIndex;
using enum RegisterStore::AttributeIndex;
constexpr auto kOperands = operand_table<RegisterStore>();
constexpr auto kAttributes = attribute_table<RegisterStore>();

void check(const Draft& draft, const Architecture& architecture) {
  check_register(kName, draft.engine, draft.attribute(kSrc).integer(), architecture);
  check_register_memory(kName, "dst", draft.operand(kDst));
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const int64_t value = read_register(instance, instance.attribute(kSrc).integer());
  store_integers(&value, dst.partition(0), dst.dtype, 0, 1);
}

}  // namespace

Draft RegisterStore::draft() const { return draft_of(kRegisterStore, *this); }

const InstructionType kRegisterStore = {kName, kOperands, kAttributes,     sequencer_engine,
                                        check, run,       sequencer_demand};

}  // namespace neuron_sim
