#include "device/isa/activation/activation_stage.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_accumulator.h"
#include "device/numerics/activation_functions.h"
#include "device/numerics/operators.h"

namespace neuron_sim::activation_stage {
namespace {

void check_bias(const Draft& draft, const Architecture& architecture) {
  const std::string_view name = draft.type->name;
  const View& bias = draft.operand(kBias);
  const double constant = draft.attribute(kBiasConstant).real();
  if (bias.present()) {
    checks::compute_operand(name, "bias", bias, draft.engine, architecture);
    checks::per_partition(name, "bias", bias, draft.operand(kData));
    if (bias.dtype() == Dtype::kTfloat32) {
      checks::dtype_error(name, "bias", bias, "any dtype but tfloat32");
    }
    if (constant != 0) {
      fail(text("'", name, "' has a bias tile ", bias.describe(), " and a constant bias ", constant,
                "; it adds only one."));
    }
  } else if (constant != 0 && !architecture.features.scalar_constant_bias) {
    fail(text("bias ", constant, " of '", name, "' must be a vector of one element per ",
              "partition; architecture ", architecture.name,
              " has no constant bias other than 0."));
  }
  const bool biased = bias.present() || constant != 0;
  if (biased && draft.attribute(kOp).as<Activation>() == Activation::kReciprocal &&
      !architecture.features.reciprocal_bias) {
    fail(text("op 'reciprocal' of '", name, "' takes no bias on architecture ", architecture.name,
              "."));
  }
}

void check_scale(const Draft& draft, const Architecture& architecture) {
  const std::string_view name = draft.type->name;
  const View& scale = draft.operand(kScale);
  if (!scale.present()) return;
  const double constant = draft.attribute(kScaleConstant).real();
  if (constant != 1) {
    fail(text("'", name, "' has a scale tile ", scale.describe(), " and a constant scale ",
              constant, "; it multiplies by only one."));
  }
  checks::compute_operand(name, "scale", scale, draft.engine, architecture);
  if (scale.free_elements() != 1) {
    fail(text("scale ", scale.describe(), " of '", name,
              "' must be a scalar or a vector of one element per partition."));
  }
  checks::per_partition(name, "scale", scale, draft.operand(kData));
  if (scale.dtype() != Dtype::kFloat32) checks::dtype_error(name, "scale", scale, "float32");
}

bool reduces(ReduceCommand command) {
  return command == ReduceCommand::kReduce || command == ReduceCommand::kResetReduce;
}

/// How one partition is scaled and shifted.
struct Affinity {
  float scale = 1;
  float bias = 0;
  bool adds = false;
};

Affinity affinity_of(const Instance& instance, int64_t partition) {
  Affinity result;
  const Access& bias = instance.operand(kBias);
  const Access& scale = instance.operand(kScale);
  result.scale = scale.present() ? read_scalar(scale, partition)
                                 : static_cast<float>(instance.attribute(kScaleConstant).real());
  result.bias = bias.present() ? read_scalar(bias, partition)
                               : static_cast<float>(instance.attribute(kBiasConstant).real());
  result.adds = bias.present() || result.bias != 0;
  return result;
}

/// input = source * scale + bias of one partition.
void scale_row(const Affinity& affinity, const float* source, int64_t count, float* input) {
  for (int64_t i = 0; i < count; ++i) input[i] = source[i] * affinity.scale;
  for (int64_t i = 0; affinity.adds && i < count; ++i) input[i] += affinity.bias;
}

float* grown(std::vector<float>& buffer, int64_t count) {
  if (static_cast<int64_t>(buffer.size()) < count) buffer.resize(static_cast<size_t>(count));
  return buffer.data();
}

/// Partitions that one call of the function takes, so that short rows fill its vectors: all of them
/// are read before any is written.
int64_t partitions_at_once(const Instance& instance) {
  constexpr int64_t kValues = 512;
  const Access& data = instance.operand(kData);
  const int64_t fitting = kValues / std::max<int64_t>(data.elements(), 1);
  const int64_t count = std::min<int64_t>(fitting, data.partitions);
  if (count <= 1) return 1;
  for (const int written : {kDst, kReduceRes}) {
    for (const int read : {kData, kBias, kScale}) {
      if (!reads_may_precede_writes(instance.operand(read), instance.operand(written), count)) {
        return 1;
      }
    }
  }
  return count;
}

}  // namespace

void check(const Draft& draft, const Architecture& architecture) {
  const std::string_view name = draft.type->name;
  checks::engine(name, draft.engine, {EngineKind::kScalar}, architecture);
  checks::source_and_dst(name, "data", draft.operand(kData), draft.operand(kDst), draft.engine,
                         architecture);
  if (draft.attribute(kOp).as<Activation>() == Activation::kPrelu) {
    fail(text("op 'prelu' of '", name, "' has no slope; 'activate2' has relu_param."));
  }
  check_bias(draft, architecture);
  check_scale(draft, architecture);
}

void check_reduction(const Draft& draft, ReduceCommand command, const Architecture& architecture) {
  const std::string_view name = draft.type->name;
  const View& result = draft.operand(kReduceRes);
  const auto op = draft.attribute(kReduceOp).as<AluOp>();
  if (op != AluOp::kAdd && (reduces(command) || op != AluOp::kNone)) {
    fail(text("reduce_op '", neuron_sim::name(op), "' of '", name,
              "' is not supported; only 'add' is."));
  }
  if (!result.present()) return;
  checks::compute_operand(name, "reduce_res", result, draft.engine, architecture);
  checks::per_partition(name, "reduce_res", result, draft.operand(kData));
}

void run(const Instance& instance, ReduceCommand command) {
  const Access& dst = instance.operand(kDst);
  const Access& data = instance.operand(kData);
  const Access& accumulator = instance.operand(kAccumulator);
  const Access& result = instance.operand(kReduceRes);
  const auto op = instance.attribute(kOp).as<Activation>();
  RowScratch& scratch = row_scratch();
  const int64_t count = data.elements();
  const int64_t at_once = partitions_at_once(instance);
  float* const inputs = grown(scratch.second, at_once * count);
  float* const results = at_once == 1 ? nullptr : grown(scratch.third, at_once * count);
  const RowReader read(data, scratch.first);
  const RowWriter writer(dst, scratch.result);
  for (int64_t first = 0; first < data.partitions; first += at_once) {
    const int64_t taken = std::min(at_once, data.partitions - first);
    for (int64_t i = 0; i < taken; ++i) {
      scale_row(affinity_of(instance, first + i), read(first + i), count, inputs + i * count);
    }
    float* const target = results == nullptr ? writer.target(first) : results;
    apply(op, inputs, target, taken * count);
    for (int64_t i = 0; i < taken; ++i) {
      accumulate({command}, accumulator, result, first + i, target + i * count, count);
      writer.write(first + i, target + i * count);
    }
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const RateClass rate = elementwise::one_source_rate(draft.engine, data, dst);
  Demand result = elementwise::demand(rate, data, {&dst, &data});
  Step& step = result.steps[0];
  step.pointer_operand = draft.operand(kBias).present() || draft.operand(kScale).present();
  step.reads_accumulator = draft.operand(kReduceRes).present();
  step.table = static_cast<int8_t>(table_of(draft.attribute(kOp).as<Activation>()));
  return result;
}

}  // namespace neuron_sim::activation_stage
