#include "device/isa/activation.h"

#include <array>
#include <cstring>

#include "device/base/errors.h"
#include "device/isa/checks.h"
#include "device/isa/pattern.h"
#include "device/isa/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "activation";
enum OperandIndex { kDst, kData, kBias, kScale, kAccumulator, kReduceRes };
enum AttributeIndex { kOp, kScaleConstant, kBiasConstant, kReduceOp, kReduceCommand };

constexpr OperandField kOperands[] = {{"dst", Direction::kWrite},
                                      {"data", Direction::kRead},
                                      {"bias", Direction::kRead, true},
                                      {"scale", Direction::kRead, true},
                                      {"accumulator", Direction::kReadWrite, true},
                                      {"reduce_res", Direction::kWrite, true}};
constexpr AttributeField kAttributes[] = {{"op", AttributeKind::kActivation},
                                          {"scale", AttributeKind::kReal},
                                          {"bias", AttributeKind::kReal},
                                          {"reduce_op", AttributeKind::kAluOp},
                                          {"reduce_cmd", AttributeKind::kInteger}};

EngineKind choose_engine(const Draft&, const Architecture&) { return EngineKind::kScalar; }

bool reduces(ReduceCommand command) {
  return command == ReduceCommand::kReduce || command == ReduceCommand::kResetReduce;
}

void check_scale_and_bias(const Draft& draft, const Architecture& architecture) {
  const View& data = draft.operand(kData);
  const View& bias = draft.operand(kBias);
  const View& scale = draft.operand(kScale);
  const double bias_constant = draft.attribute(kBiasConstant).real();
  if (bias.present()) {
    checks::compute_operand(kName, "bias", bias, draft.engine, architecture);
    checks::per_partition(kName, "bias", bias, data);
    if (bias.dtype() == Dtype::kTfloat32) {
      checks::dtype_error(kName, "bias", bias, "any dtype but tfloat32");
    }
    if (bias_constant != 0) {
      fail(text("'activation' has a bias tile ", bias.describe(), " and a constant bias ",
                bias_constant, "; it adds only one."));
    }
  } else if (bias_constant != 0 && !architecture.features.scalar_constant_bias) {
    fail(text("bias ", bias_constant, " of 'activation' must be a vector of one element per ",
              "partition; architecture ", architecture.name,
              " has no constant bias other than 0."));
  }
  if (!scale.present()) return;
  checks::compute_operand(kName, "scale", scale, draft.engine, architecture);
  if (scale.free_elements() != 1) {
    fail(text("scale ", scale.describe(),
              " of 'activation' must be a scalar or a vector of one element per partition."));
  }
  checks::per_partition(kName, "scale", scale, data);
  if (scale.dtype() != Dtype::kFloat32) checks::dtype_error(kName, "scale", scale, "float32");
}

void check_reduction(const Draft& draft, const Architecture& architecture) {
  const View& data = draft.operand(kData);
  const View& accumulator = draft.operand(kAccumulator);
  const View& result = draft.operand(kReduceRes);
  const auto command = draft.attribute(kReduceCommand).as<ReduceCommand>();
  const auto op = draft.attribute(kReduceOp).as<AluOp>();
  if (command == ReduceCommand::kLoadReduce) {
    fail(
        "'activation' has no initial value for reduce_cmd 'load_reduce'; use 'reset_reduce' or"
        " 'reduce'.",
        ErrorKind::kNotImplemented);
  }
  if (op != AluOp::kAdd && (reduces(command) || op != AluOp::kNone)) {
    fail(text("reduce_op '", name(op), "' of 'activation' is not supported; only 'add' is."));
  }
  if (result.present()) {
    checks::compute_operand(kName, "reduce_res", result, draft.engine, architecture);
    checks::per_partition(kName, "reduce_res", result, data);
  }
  if (accumulator.present() != (command != ReduceCommand::kIdle || result.present())) {
    fail(
        "'activation' needs operand 'accumulator' exactly when it has a reduce_cmd other than"
        " 'idle' or a reduce_res.");
  }
  if (!accumulator.present()) return;
  checks::memory(kName, "accumulator", accumulator, {MemoryKind::kAccumulator});
  checks::per_partition(kName, "accumulator", accumulator, data);
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kScalar}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::compute_operand(kName, "data", data, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "data", data);
  checks::same_free_elements(kName, "dst", dst, "data", data);
  check_scale_and_bias(draft, architecture);
  check_reduction(draft, architecture);
}

/// Sum in the documented order, which lets the host add 16 elements at a time.
float ordered_sum(const float* values, int64_t count) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += values[i + static_cast<int64_t>(lane)];
  }
  for (size_t lane = 0; i < count; ++i, ++lane) sums[lane] += values[i];
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) sums[lane] = sums[2 * lane] + sums[2 * lane + 1];
  }
  return sums[0];
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

/// op(data * scale + bias) of one partition into `target`, which may be the storage of `source`.
void compute_row(Activation op, const Affinity& affinity, const float* source, int64_t count,
                 float* target) {
  std::vector<float>& input = row_scratch().second;
  if (static_cast<int64_t>(input.size()) < count) input.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) input[static_cast<size_t>(i)] = source[i] * affinity.scale;
  for (int64_t i = 0; affinity.adds && i < count; ++i) {
    input[static_cast<size_t>(i)] += affinity.bias;
  }
  apply(op, input.data(), target, count);
}

void update_register(ReduceCommand command, const float* results, int64_t count,
                     std::byte* storage) {
  if (command == ReduceCommand::kIdle) return;
  float value = 0;
  if (command == ReduceCommand::kReduce) std::memcpy(&value, storage, sizeof value);
  if (reduces(command)) value += ordered_sum(results, count);
  std::memcpy(storage, &value, sizeof value);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& data = instance.operand(kData);
  const Access& accumulator = instance.operand(kAccumulator);
  const Access& result = instance.operand(kReduceRes);
  const auto op = instance.attribute(kOp).as<Activation>();
  const auto command = instance.attribute(kReduceCommand).as<ReduceCommand>();
  RowScratch& scratch = row_scratch();
  const int64_t count = data.elements();
  for (int64_t p = 0; p < data.partitions; ++p) {
    const float* source = read_row(data, p, scratch.first);
    float* target = row_target(dst, p, scratch.result);
    compute_row(op, affinity_of(instance, p), source, count, target);
    if (accumulator.present()) update_register(command, target, count, accumulator.partition(p));
    write_row(dst, p, target);
    if (!result.present()) continue;
    float value = 0;
    std::memcpy(&value, accumulator.partition(p), sizeof value);
    write_row(result, p, &value);
  }
}

/// Scale, bias and reduction are free; reading the registers is not (isa.json).
Demand demand(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  Demand demand;
  demand.add({.unit = Unit::kElementwise,
              .rate = RateClass::kOneInput,
              .source_psum = data.memory() == MemoryKind::kPsum,
              .pointer_operand = draft.operand(kBias).present() || draft.operand(kScale).present(),
              .strided = is_strided(data) || is_strided(draft.operand(kDst)),
              .reads_accumulator = draft.operand(kReduceRes).present(),
              .table = static_cast<int8_t>(table_of(draft.attribute(kOp).as<Activation>())),
              .elements = data.free_elements()});
  return demand;
}

}  // namespace

Draft Activate::draft() const {
  return make_draft(kActivation, EngineKind::kScalar,
                    {&dst, &data, &bias_tile, &scale_tile, &accumulator, &reduce_res},
                    {Attribute::of(op), Attribute::of(scale), Attribute::of(bias),
                     Attribute::of(reduce_op), Attribute::of(reduce_command)});
}

const InstructionType kActivation = {kName, kOperands, kAttributes, choose_engine,
                                     check, run,       demand};

}  // namespace neuron_sim
