#include "device/isa/activation/activation_stage.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/row_loops.h"
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

/// A number per partition: the elements of a tile in storage, or a constant.
struct PerPartition {
  const Access* tile = nullptr;  ///< null: the constant
  float constant = 0;

  PerPartition(const Access& access, double value)
      : tile(access.present() ? &access : nullptr), constant(static_cast<float>(value)) {}
  bool in_place() const {
    return tile == nullptr || (tile->rows == nullptr && tile->dtype == Dtype::kFloat32);
  }
  FloatRows<const float> from(int64_t partition) const {
    if (tile == nullptr) return {&constant};
    return {reinterpret_cast<const float*>(tile->partition(partition)), tile->partition_stride};
  }
  float at(int64_t partition) const {
    return tile == nullptr ? constant : read_scalar(*tile, partition);
  }
};

/// How the rows are scaled and shifted.
class Affinity {
 public:
  explicit Affinity(const Instance& instance)
      : scale_(instance.operand(kScale), instance.attribute(kScaleConstant).real()),
        bias_(instance.operand(kBias), instance.attribute(kBiasConstant).real()) {}

  /// inputs = source * scale + bias, each rounded, of `rows` partitions from `first` on.
  void apply(const RowReader& source, int64_t first, int64_t rows, int64_t count,
             FloatRows<float> inputs) const {
    if (source.in_place() && !source.repeats() && scale_.in_place() && bias_.in_place()) {
      FloatRows<const float> values = source.rows();
      values.first = values[first];
      return apply({values, scale_.from(first), inputs, rows, count}, bias_.from(first));
    }
    for (int64_t i = 0; i < rows; ++i) {
      const float scale = scale_.at(first + i), bias = bias_.at(first + i);
      apply({{source(first + i)}, {&scale}, {inputs[i]}, 1, count}, {&bias});
    }
  }

 private:
  void apply(const RowPairs& pairs, FloatRows<const float> biases) const {
    if (bias_.tile == nullptr && bias_.constant == 0) {
      return map_rows<true>(pairs, [](float value, float scale) { return value * scale; });
    }
    for (int64_t row = 0; row < pairs.rows; ++row) {
      const float* const values = pairs.first[row];
      const float scale = *pairs.second[row], bias = *biases[row];
      float* const inputs = pairs.result[row];
      for (int64_t i = 0; i < pairs.count; ++i) inputs[i] = values[i] * scale + bias;
    }
  }

  PerPartition scale_, bias_;
};

float* grown(std::vector<float>& buffer, int64_t count) {
  if (static_cast<int64_t>(buffer.size()) < count) buffer.resize(static_cast<size_t>(count));
  return buffer.data();
}

/// The last function of several partitions and its values, which the next one may take once:
/// kernels that normalise rows compute the exponentials of a tile for their sum and again for the
/// result.
struct LastFunction {
  Activation op = Activation::kIdentity;
  size_t count = 0;
  std::vector<float> inputs, results;

  bool is(Activation other, const float* values, size_t number) const {
    return op == other && count == number &&
           std::memcmp(inputs.data(), values, number * sizeof(float)) == 0;
  }
};

/// op of `count` values in `inputs`, which are kept.
const float* apply_or_repeat(Activation op, std::vector<float>& inputs, int64_t count) {
  thread_local LastFunction last;
  const auto number = static_cast<size_t>(count);
  const bool is_repeated = last.is(op, inputs.data(), number);
  last.count = 0;  // taken, or until both are there
  if (is_repeated) return last.results.data();
  apply(op, inputs.data(), grown(last.results, count), count);
  std::swap(last.inputs, inputs);
  last.op = op;
  last.count = number;
  return last.results.data();
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
  const Affinity affinity(instance);
  const RowReader read(data, scratch.first);
  const RowWriter writer(dst, scratch.result);
  const int64_t at_once = op == Activation::kIdentity ? 1 : partitions_at_once(instance);
  const bool accumulates = accumulator.present();
  const int64_t bytes = count * int64_t{sizeof(float)};
  for (int64_t first = 0; first < data.partitions; first += at_once) {
    const int64_t taken = std::min(at_once, data.partitions - first);
    if (at_once > 1) {
      affinity.apply(read, first, taken, count, {grown(scratch.second, taken * count), bytes});
      const float* const results = apply_or_repeat(op, scratch.second, taken * count);
      for (int64_t i = 0; i < taken; ++i) {
        const float* const row = results + i * count;
        if (accumulates) accumulate({command}, accumulator, result, first + i, row, count);
        writer.write(first + i, 1, row, count);
      }
      continue;
    }
    float* const target = writer.target(first);
    if (op == Activation::kIdentity && row_loops::same_or_apart(read(first), target, count)) {
      affinity.apply(read, first, 1, count, {target});
    } else {
      float* const inputs = grown(scratch.second, count);
      affinity.apply(read, first, 1, count, {inputs});
      neuron_sim::apply(op, inputs, target, count);
    }
    accumulate({command}, accumulator, result, first, target, count);
    writer.write(first, target);
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
