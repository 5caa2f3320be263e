#include "device/compiler/middle_end/reuse_transposes.h"

#include <algorithm>
#include <optional>

#include "device/compiler/line/kept_tiles.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {
namespace {

constexpr size_t kResult = 0;

/// A transpose on the PE array: nc_transpose, or a product with an identity.
bool is_transpose(const StraightLine& line, const StraightInstruction& instance) {
  const Instruction& instruction = instance.instruction;
  if (instruction.engine != EngineKind::kTensor) return false;
  if (instruction.type == &kNcTranspose) return true;
  return instruction.type == &kNcMatmul &&
         line.attributes_of(instance)[NcMatmul::kIsTranspose].flag();
}

class Transposes {
 public:
  explicit Transposes(const StraightLine& line) : line_(line), uses_(line) {}

  /// All copies of transposed tiles, in program order.
  std::vector<FilledTile> copied() const {
    std::vector<FilledTile> result;
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      const std::optional<uint32_t> transpose = transpose_of(i);
      if (transpose) result.push_back(filled(*transpose, i));
    }
    return result;
  }

  const TileUses& uses() const { return uses_; }

 private:
  const StraightInstruction& at(uint32_t index) const { return line_.instructions[index]; }

  /// The transpose whose result the instance `copy` brings to SBUF, and nothing else reads.
  std::optional<uint32_t> transpose_of(uint32_t copy) const {
    if (at(copy).instruction.type != &kTensorCopy) return {};
    const auto operands = line_.operands_of(at(copy));
    const Operand &dst = operands[kResult], &src = operands[1];
    if (dst.memory != MemoryKind::kSbuf || src.memory != MemoryKind::kPsum) return {};
    const std::span<const TileUse> uses = uses_.of(src.tile);
    if (uses.size() != 2 || uses[1].instance != copy || dst.reads()) return {};
    const uint32_t transpose = uses[0].instance;
    const bool found = is_transpose(line_, at(transpose)) && reads_final(transpose) &&
                       fills_alone(line_, uses_, src.tile, transpose) &&
                       fills_alone(line_, uses_, dst.tile, copy);
    return found ? std::optional(transpose) : std::nullopt;
  }

  /// Whether nothing writes what the instance reads after it.
  bool reads_final(uint32_t index) const {
    const auto operands = line_.operands_of(at(index));
    return std::all_of(operands.begin() + 1, operands.end(), [&](const Operand& operand) {
      return !operand.present() || is_final(operand, index);
    });
  }

  bool is_final(const Operand& operand, uint32_t reader) const {
    const std::span<const TileUse> uses = uses_.of(operand.tile);
    return !line_.tile_of(operand).placed &&
           std::none_of(uses.rbegin(), uses.rend(), [&](const TileUse& use) {
             return use.instance > reader && operand_at(line_, use).writes();
           });
  }

  FilledTile filled(uint32_t transpose, uint32_t copy) const {
    FilledTile result{.instance = copy, .source = transpose};
    result.tile = line_.operands_of(at(copy))[kResult].tile;
    for (const uint32_t index : {transpose, copy}) {
      result.key.push_back(at(index).instruction.type == &kNcMatmul ? 1 : 0);
      for (const Attribute& attribute : line_.attributes_of(at(index))) {
        result.key.push_back(attribute.bits);
      }
      for (const Operand& operand : line_.operands_of(at(index))) append_operand(result, operand);
    }
    return result;
  }

  /// Results are alike when their layouts are; what is transposed must be the same tile.
  void append_operand(FilledTile& result, const Operand& operand) const {
    if (!operand.present()) return;
    append(result.key, operand, line_.tile_of(operand));
    const bool data = operand.memory == MemoryKind::kSbuf && !operand.writes();
    result.key.push_back(data ? operand.tile : kNoTile);
  }

  const StraightLine& line_;
  TileUses uses_;
};

}  // namespace

void reuse_transposes(StraightLine& line) {
  const Transposes transposes(line);
  keep_tiles(line, transposes.uses(), transposes.copied(), 0);
}

}  // namespace neuron_sim
