// register_load and register_store: values between memory and the registers of a sequencer.

#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_store.h"
#include "device/isa/sequencing/sequencer.h"

namespace neuron_sim {
namespace {

template <typename T>
constexpr auto kOperands = operand_table<T>();
template <typename T>
constexpr auto kAttributes = attribute_table<T>();

/// The only operand of both is in memory, their only attribute a register.
void check(const Draft& draft, const Architecture& architecture) {
  const InstructionType& type = *draft.type;
  check_register(type.name, draft.engine, draft.attribute(0).integer(), architecture);
  check_register_memory(type.name, type.operands[0].name, draft.operand(0));
}

void load(const Instance& instance) {
  write_register(instance, instance.attribute(RegisterLoad::kDst).integer(),
                 read_register_memory(instance.operand(RegisterLoad::kSrc)));
}

void store(const Instance& instance) {
  const Access& dst = instance.operand(RegisterStore::kDst);
  const int64_t value = read_register(instance, instance.attribute(RegisterStore::kSrc).integer());
  store_integers(&value, dst.partition(0), dst.dtype, 0, 1);
}

template <typename T>
constexpr InstructionType type_of(void (*run)(const Instance&)) {
  return {T::kName, kOperands<T>, kAttributes<T>, sequencer_engine, check, run, sequencer_demand};
}

}  // namespace

Draft RegisterLoad::draft() const { return draft_of(kRegisterLoad, *this); }
Draft RegisterStore::draft() const { return draft_of(kRegisterStore, *this); }

constinit const InstructionType kRegisterLoad = type_of<RegisterLoad>(load);
constinit const InstructionType kRegisterStore = type_of<RegisterStore>(store);

}  // namespace neuron_sim
