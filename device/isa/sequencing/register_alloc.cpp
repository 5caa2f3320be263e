#include "device/isa/sequencing/register_alloc.h"

#include "device/base/errors.h"
#include "device/isa/sequencing/sequencer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "register_alloc";
enum OperandIndex { kX };
enum AttributeIndex { kDst, kXConstant, kHasConstant };
constexpr OperandField kOperands[] = {{"x", Direction::kRead, true}};
constexpr AttributeField kAttributes[] = {{"dst", AttributeKind::kInteger},
                                          {"x_constant", AttributeKind::kInteger},
                                          {"has_constant", AttributeKind::kFlag}};

void check(const Draft& draft, const Architecture& architecture) {
  check_register(kName, draft.engine, draft.attribute(kDst).integer(), architecture);
  const View& x = draft.operand(kX);
  const int64_t constant = draft.attribute(kXConstant).integer();
  const bool has_constant = draft.attribute(kHasConstant).flag();
  if (has_constant) check_register_value(kName, "x", constant);
  if (!x.present()) return;
  if (has_constant) {
    fail(text("operand 'x' of 'register_alloc' is given twice: as ", x.describe(),
              " and as the constant ", constant, "."));
  }
  check_register_memory(kName, "x", x);
}

void run(const Instance& instance) {
  const int64_t dst = instance.attribute(kDst).integer();
  const Access& x = instance.operand(kX);
  if (x.present()) {
    write_register(instance, dst, read_register_memory(x));
  } else if (instance.attribute(kHasConstant).flag()) {
    write_register(instance, dst, instance.attribute(kXConstant).integer());
  }
}

Demand demand(const Draft& draft, const Architecture& architecture) {
  Demand demand = sequencer_demand(draft, architecture);
  const bool sets = draft.operand(kX).present() || draft.attribute(kHasConstant).flag();
  if (!sets) demand.steps[0].elements = 0;
  return demand;
}

}  // namespace

Draft RegisterAlloc::draft() const {
  return make_draft(kRegisterAlloc, engine, {&x},
                    {Attribute::of(dst), Attribute::of(x_constant.value_or(0)),
                     Attribute::of(x_constant.has_value())});
}

const InstructionType kRegisterAlloc = {kName, kOperands, kAttributes, sequencer_engine,
                                        check, run,       demand};

}  // namespace neuron_sim
