#include "device/isa/activation/exponential.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/instruction/vector_accumulator.h"
#include "device/numerics/activation_functions.h"

namespace neuron_sim {
namespace {

using enum Exponential::OperandIndex;
using enum Exponential::AttributeIndex;

constexpr std::string_view kName = "exponential";
constexpr int kMaximumDimensions = 4;  // with that of the partitions

constexpr auto kOperands = operand_table<Exponential>();
constexpr auto kAttributes = attribute_table<Exponential>();

void check_rank(std::string_view operand, const View& view) {
  if (view.rank() <= kMaximumDimensions) return;
  fail(text("parameter '", operand, "' of 'exponential', ", view.describe(),
            ", exceed max supported number of dimensions of ", kMaximumDimensions, "."));
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::generation(kName, 4, architecture);
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  checks::source_and_dst(kName, "src", src, dst, draft.engine, architecture);
  check_rank("src", src);
  check_rank("dst", dst);
  if (src.dtype() == Dtype::kBool || src.dtype() == Dtype::kTfloat32) {
    checks::dtype_error(kName, "src", src, "any dtype but bool_ and tfloat32");
  }
  if (dst.dtype() == Dtype::kBool || dst.dtype() == Dtype::kUint32) {
    checks::dtype_error(kName, "dst", dst, "any dtype but bool_ and uint32");
  }
  const auto command = draft.attribute(kReduceCommand).as<ReduceCommand>();
  checks::reduce_command(kName, command,
                         {ReduceCommand::kIdle, ReduceCommand::kResetReduce, ReduceCommand::kReduce,
                          ReduceCommand::kLoadReduce});
  checks::fp32_per_partition(kName, "max_value", draft.operand(kMaximum), src, draft.engine,
                             architecture);
  checks::initial_value(kName, "reduce_init", draft.operand(kReduceInit),
                        draft.attribute(kInitConstant).real(), command, src, draft.engine,
                        architecture);
  checks::reduce_result(kName, draft.operand(kReduceRes), src, draft.engine, architecture);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Accumulation accumulation{instance.attribute(kReduceCommand).as<ReduceCommand>()};
  const double constant_maximum = instance.attribute(kMaximumConstant).real();
  const double constant_init = instance.attribute(kInitConstant).real();
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float maximum = scalar_operand(instance.operand(kMaximum), constant_maximum, p);
    const float initial = scalar_operand(instance.operand(kReduceInit), constant_init, p);
    const float* values = read_row(instance.operand(kSrc), p, scratch.first);
    float* result = row_target(dst, p, scratch.result);
    for (int64_t i = 0; i < count; ++i) result[i] = values[i] - maximum;
    apply(Activation::kExp, result, result, count);
    accumulate(accumulation, instance.operand(kAccumulator), instance.operand(kReduceRes), p,
               initial, result, count);
    write_row(dst, p, result);
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  Demand result = elementwise::demand(RateClass::kExponential, src, {&dst, &src});
  result.steps[0].pointer_operand =
      draft.operand(kMaximum).present() || draft.operand(kReduceInit).present();
  result.steps[0].reads_accumulator = draft.operand(kReduceRes).present();
  return result;
}

}  // namespace

Draft Exponential::draft() const {
  const View registers = vector_accumulator(reduce_command, reduce_res, src.partitions());
  Draft draft = draft_of(kExponential, *this);
  draft.operands[kAccumulator] = registers;
  return draft;
}

constinit const InstructionType kExponential = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
