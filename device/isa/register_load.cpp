#include "device/isa/register_load.h"

#include "device/base/errors.h"
#include "device/isa/checks.h"
#include "device/isa/sequencer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "register_load";
enum OperandIndex { kSource };
enum AttributeIndex { kRegister };
constexpr OperandField kOperands[] = {{"source", Direction::kRead}};
constexpr AttributeField kAttributes[] = {{"register", AttributeKind::kInteger}};

void check(const Draft& draft, const Architecture& architecture) {
  check_register(kName, draft.engine, draft.attribute(kRegister).integer(), architecture);
  const View& source = draft.operand(kSource);
  checks::memory(kName, "source", source, {MemoryKind::kHbm, MemoryKind::kSbuf});
  if (source.partitions() != 1 || source.free_elements() != 1) {
    fail(text("operand 'source' of 'register_load' is ", source.describe(),
              ", but must have one element."));
  }
  if (source.dtype() != Dtype::kInt32 && source.dtype() != Dtype::kUint32) {
    checks::dtype_error(kName, "source", source, "int32 or uint32");
  }
}

void run(const Instance& instance) {
  const Access& source = instance.operand(kSource);
  int64_t value = 0;
  load_integers(source.partition(0), source.dtype, 0, &value, 1);
  write_register(instance, instance.attribute(kRegister).integer(), value);
}

}  // namespace

Draft RegisterLoad::draft() const {
  return make_draft(kRegisterLoad, engine, {&source}, {Attribute::of(register_index)});
}

const InstructionType kRegisterLoad = {kName, kOperands, kAttributes,     sequencer_engine,
                                       check, run,       sequencer_demand};

}  // namespace neuron_sim
