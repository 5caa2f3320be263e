#include "python_bindings/core_module/instructions/names.h"

#include <string_view>

#include "device/base/errors.h"
#include "device/instruction/vector_accumulator.h"

namespace neuron_sim {
namespace {

template <typename V>
struct NamedValue {
  std::string_view name;
  V value;
};

constexpr NamedValue<EngineKind> kEngines[] = {
    {"tensor", EngineKind::kTensor}, {"vector", EngineKind::kVector},
    {"scalar", EngineKind::kScalar}, {"gpsimd", EngineKind::kGpSimd},
    {"sync", EngineKind::kSync},     {"auto", EngineKind::kAuto}};
constexpr NamedValue<ReduceCommand> kReduceCommands[] = {
    {"idle", ReduceCommand::kIdle},
    {"reset", ReduceCommand::kReset},
    {"reduce", ReduceCommand::kReduce},
    {"reset_reduce", ReduceCommand::kResetReduce},
    {"load_reduce", ReduceCommand::kLoadReduce}};
constexpr NamedValue<MatmulPerformanceMode> kPerformanceModes[] = {
    {"none", MatmulPerformanceMode::kNone}, {"double_row", MatmulPerformanceMode::kDoubleRow}};
constexpr NamedValue<std::optional<DescriptorKind>> kDescriptors[] = {
    {"static", DescriptorKind::kStatic},
    {"hardware", DescriptorKind::kHardware},
    {"software", DescriptorKind::kSoftware},
    {"auto", std::nullopt}};
constexpr NamedValue<PartitionReduction> kPartitionReductions[] = {
    {"add", PartitionReduction::kAdd},
    {"average", PartitionReduction::kAverage},
    {"maximum", PartitionReduction::kMaximum},
    {"bitwise_or", PartitionReduction::kBitwiseOr},
    {"bitwise_and", PartitionReduction::kBitwiseAnd}};
constexpr NamedValue<DmaEngine> kDmaEngines[] = {{"dma", DmaEngine::kDma},
                                                 {"gpsimd_dma", DmaEngine::kGpSimdDma}};

/// The value of a name, or a refusal: "engine 'x' is unknown; allowed: tensor, ..., auto."
template <typename V, size_t count>
V found(const NamedValue<V> (&table)[count], std::string_view name, std::string_view parameter,
        std::string_view verb = " is") {
  for (const NamedValue<V>& each : table) {
    if (each.name == name) return each.value;
  }
  std::string allowed;
  for (const NamedValue<V>& each : table) {
    allowed += text(allowed.empty() ? "" : ", ", each.name);
  }
  fail(text(parameter, " '", name, "'", verb, " unknown; allowed: ", allowed, "."));
}

template <typename V, size_t count>
std::string name_in(const NamedValue<V> (&table)[count], const V& value) {
  for (const NamedValue<V>& each : table) {
    if (each.value == value) return std::string(each.name);
  }
  return "";
}

}  // namespace

void value_named(std::string_view name, EngineKind& engine) {
  engine = found(kEngines, name, "engine");
}
std::string name_of(EngineKind engine) { return name_in(kEngines, engine); }

void value_named(std::string_view name, AluOp& op) {
  op = AluOp::kNone;
  if (name.empty()) return;
  const auto parsed = parse_alu_op(name);
  if (!parsed) {
    fail(text("operator '", name,
              "' is unknown (nki.isa names them 'add', 'multiply', 'max', ...)."));
  }
  op = *parsed;
}
std::string name_of(AluOp op) {
  return op == AluOp::kNone ? "" : std::string(neuron_sim::name(op));
}

void value_named(std::string_view name, Activation& function) {
  const auto parsed = parse_activation(name);
  if (!parsed) fail(text("activation function '", name, "' is unknown."));
  function = *parsed;
}
std::string name_of(Activation function) { return std::string(neuron_sim::name(function)); }

void value_named(std::string_view name, ReduceCommand& command) {
  command = found(kReduceCommands, name, "reduce_cmd");
}
std::string name_of(ReduceCommand command) { return name_in(kReduceCommands, command); }

void value_named(std::string_view name, MatmulPerformanceMode& mode) {
  mode = found(kPerformanceModes, name, "perf_mode");
}
std::string name_of(MatmulPerformanceMode mode) { return name_in(kPerformanceModes, mode); }

void value_named(std::string_view name, std::optional<DescriptorKind>& descriptors) {
  descriptors = found(kDescriptors, name, "descriptors", " are");
}
std::string name_of(const std::optional<DescriptorKind>& descriptors) {
  return name_in(kDescriptors, descriptors);
}

void value_named(std::string_view name, PartitionReduction& op) {
  op = found(kPartitionReductions, name == "max" ? std::string_view("maximum") : name, "op",
             " of 'tensor_partition_reduce' is");
}
std::string name_of(PartitionReduction op) { return name_in(kPartitionReductions, op); }

void value_named(std::string_view name, DmaEngine& engine) {
  engine = found(kDmaEngines, name, "dma_engine");
}
std::string name_of(DmaEngine engine) { return name_in(kDmaEngines, engine); }

bool skips_out_of_bounds(std::string_view oob_mode) {
  constexpr NamedValue<bool> kModes[] = {{"error", false}, {"skip", true}};
  return found(kModes, oob_mode, "oob_mode");
}

}  // namespace neuron_sim
