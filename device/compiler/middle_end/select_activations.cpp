#include "device/compiler/middle_end/select_activations.h"

#include <array>
#include <bit>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

using Scalars = TensorScalar;

/// Stages of a tensor_scalar whose operands become scale and bias; empty: none does.
struct ScaleAndBias {
  std::optional<size_t> scale, bias;
};

/// nullopt unless an activation has the same operators.
std::optional<ScaleAndBias> scale_and_bias_of(std::span<const Attribute> attributes) {
  const auto op0 = attributes[Scalars::kOp0].as<AluOp>();
  const auto op1 = attributes[Scalars::kOp1].as<AluOp>();
  if (op0 == AluOp::kAdd && op1 == AluOp::kNone) return ScaleAndBias{std::nullopt, 0};
  if (op0 != AluOp::kMultiply) return std::nullopt;
  if (op1 == AluOp::kNone) return ScaleAndBias{0, std::nullopt};
  return op1 == AluOp::kAdd ? std::optional(ScaleAndBias{0, 1}) : std::nullopt;
}

/// Makes the instance `form`, with these operands up to the last one that is present. False, and
/// nothing, where its check refuses that.
bool become(StraightLine& line, StraightInstruction& instance, const Draft& form,
            std::span<const Operand> operands) {
  while (!operands.back().present()) operands = operands.first(operands.size() - 1);
  const size_t kept_operands = line.operands.size(), kept_attributes = line.attributes.size();
  StraightInstruction changed = instance;
  Instruction& instruction = changed.instruction;
  instruction.type = form.type;
  instruction.engine = form.type->choose_engine(form, *line.architecture);
  set_operands(line, changed, operands);
  instruction.first_attribute = static_cast<uint32_t>(line.attributes.size());
  instruction.attribute_count = static_cast<uint8_t>(form.attributes.size());
  line.attributes.insert(line.attributes.end(), form.attributes.begin(), form.attributes.end());
  if (!renew_demand_if_legal(line, changed)) {
    line.operands.resize(kept_operands);
    line.attributes.resize(kept_attributes);
    return false;
  }
  instance = changed;
  return true;
}

/// Columns of numbers in SBUF that biases read, each set once, right before its first reader.
class Constants {
 public:
  Constants(StraightLine& line, std::vector<StraightInstruction>& instructions)
      : line_(line), instructions_(instructions) {}

  /// The number, once for each partition of `data`.
  Operand column(double number, const Operand& data) {
    const auto [column, is_new] = columns_.try_emplace(std::bit_cast<uint64_t>(number));
    TileId& tile = column->second.tile;
    if (is_new) {
      tile = add_version(line_, data.tile);
      line_.tiles.back() = Tile{.label = text("constant ", number),
                                .memory = MemoryKind::kSbuf,
                                .partitions = partitions_,
                                .bytes = itemsize(Dtype::kFloat32),
                                .core = line_.tile_of(data).core};
    }
    return operand(tile, Direction::kRead, data.start_partition, data.partitions);
  }

  /// Fills the column of the number, outside of all loops, unless it is filled.
  void fill(double number, const StraightInstruction& reader) {
    Column& column = columns_.at(std::bit_cast<uint64_t>(number));
    if (std::exchange(column.is_filled, true)) return;
    StraightInstruction memset = reader;
    memset.nest = static_cast<uint32_t>(line_.nests.size());
    line_.nests.emplace_back();
    const Operand dst = operand(column.tile, Direction::kWrite, 0, partitions_);
    require(become(line_, memset, Memset{.dst = {}, .value = number}.draft(), {&dst, 1}),
            "a column of SBUF can be set to any number");
    instructions_.push_back(memset);
  }

 private:
  struct Column {
    TileId tile{};
    bool is_filled = false;
  };

  Operand operand(TileId tile, Direction direction, int32_t start, int32_t partitions) const {
    Operand operand{.tile = tile,
                    .memory = MemoryKind::kSbuf,
                    .direction = direction,
                    .rank = 1,
                    .start_partition = start,
                    .partitions = partitions,
                    .partition_stride = 1};
    operand.free[0] = {1, itemsize(Dtype::kFloat32)};
    renew_region(line_, operand);
    return operand;
  }

  StraightLine& line_;
  std::vector<StraightInstruction>& instructions_;
  const int32_t partitions_ = static_cast<int32_t>(line_.architecture->limits.partitions);
  std::map<uint64_t, Column> columns_;  ///< by the bits of their number
};

/// Makes the instance an activation where one computes the same.
void select(StraightLine& line, StraightInstruction& instance, Constants& constants) {
  if (instance.instruction.type != &kTensorScalar || instance.instruction.engine_given) return;
  const auto attributes = line.attributes_of(instance);
  const std::optional<ScaleAndBias> stages = scale_and_bias_of(attributes);
  if (!stages) return;
  const WholeOperands before = line.whole_operands_of(instance);
  std::array<Operand, Activate::kScale + 1> operands{before[Scalars::kDst], before[Scalars::kData]};
  // The number of the stage, unless it has a tile.
  const auto number_of = [&](std::optional<size_t> stage, Operand& tile) -> std::optional<double> {
    if (!stage) return std::nullopt;
    const size_t operand = Scalars::kOperand0 + *stage;
    if (has_operand(before, operand)) {
      tile = before[operand];
      return std::nullopt;
    }
    return attributes[Scalars::kConstant0 + *stage * Scalars::kPerStage].real();
  };
  Activate form;
  form.scale = number_of(stages->scale, operands[Activate::kScale]).value_or(1);
  const auto bias = number_of(stages->bias, operands[Activate::kBias]);
  if (bias) operands[Activate::kBias] = constants.column(*bias, operands[Activate::kData]);
  if (become(line, instance, form.draft(), operands) && bias) constants.fill(*bias, instance);
}

}  // namespace

void select_activations(StraightLine& line) {
  if (line.architecture->features.scalar_tensor_ops) return;
  std::vector<StraightInstruction> instructions;
  instructions.reserve(line.instructions.size());
  Constants constants(line, instructions);
  for (StraightInstruction& instance : line.instructions) {
    select(line, instance, constants);
    instructions.push_back(instance);
  }
  line.instructions = std::move(instructions);
}

}  // namespace neuron_sim
