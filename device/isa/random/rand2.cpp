#include "device/isa/random/rand2.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/isa/random/random_state.h"

namespace neuron_sim {
namespace {

using enum Rand2::OperandIndex;
using enum Rand2::AttributeIndex;

constexpr std::string_view kName = "rand2";

constexpr auto kOperands = operand_table<Rand2>();
constexpr auto kAttributes = attribute_table<Rand2>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::generation(kName, 4, architecture);
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  if (dst.dtype() == Dtype::kBool) checks::dtype_error(kName, "dst", dst, "any dtype but bool_");
  const View& low = draft.operand(kMinTile);
  const View& high = draft.operand(kMaxTile);
  checks::fp32_per_partition(kName, "min", low, dst, draft.engine, architecture);
  checks::fp32_per_partition(kName, "max", high, dst, draft.engine, architecture);
  if (low.present() || high.present()) return;
  const double min = draft.attribute(kMin).real(), max = draft.attribute(kMax).real();
  if (!(min < max)) {
    fail(text("min ", min, " of 'rand2' must be less than max ", max, "."));
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float low =
        scalar_operand(instance.operand(kMinTile), instance.attribute(kMin).real(), p);
    const float high =
        scalar_operand(instance.operand(kMaxTile), instance.attribute(kMax).real(), p);
    const float range = high - low;
    const uint32_t* bits = next_random_row(instance, instance.operand(kState), p, count);
    float* result = row_target(dst, p, row_scratch().result);
    for (int64_t i = 0; i < count; ++i) result[i] = unit_interval(bits[i]) * range;
    for (int64_t i = 0; i < count; ++i) result[i] += low;
    write_row(dst, p, result);
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  Demand result = elementwise::demand(RateClass::kUniformRandom, dst, {&dst});
  result.steps[0].source_psum = false;  // there is no source
  result.steps[0].pointer_operand =
      draft.operand(kMinTile).present() || draft.operand(kMaxTile).present();
  return result;
}

}  // namespace

Draft Rand2::draft() const {
  const View state = random_state(EngineKind::kVector, dst.partitions());
  Draft draft = draft_of(kRand2, *this);
  draft.operands[kState] = state;
  return draft;
}

constinit const InstructionType kRand2 = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
