#include "device/isa/sequencing/register_move.h"

#include "device/isa/sequencing/sequencer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "register_move";
using enum RegisterMove::AttributeIndex;
constexpr auto kAttributes = attribute_table<RegisterMove>();

void check(const Draft& draft, const Architecture& architecture) {
  check_register(kName, draft.engine, draft.attribute(kDst).integer(), architecture);
  const int64_t source = draft.attribute(kSrcRegister).integer();
  if (source != -1) {
    check_register(kName, draft.engine, source, architecture);
  } else {
    check_register_value(kName, "src", draft.attribute(kSrc).integer());
  }
}

void run(const Instance& instance) {
  const int64_t source = instance.attribute(kSrcRegister).integer();
  write_register(instance, instance.attribute(kDst).integer(),
                 source < 0 ? instance.attribute(kSrc).integer() : read_register(instance, source));
}

}  // namespace

Draft RegisterMove::draft() const { return draft_of(kRegisterMove, *this); }

const InstructionType kRegisterMove = {kName, {},  kAttributes,     sequencer_engine,
                                       check, run, sequencer_demand};

}  // namespace neuron_sim
