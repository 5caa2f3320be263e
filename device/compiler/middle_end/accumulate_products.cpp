#include "device/compiler/middle_end/accumulate_products.h"

#include <algorithm>
#include <map>
#include <optional>

#include "device/base/interruption.h"
#include "device/compiler/line/access_pattern.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

class Accumulation {
 public:
  explicit Accumulation(StraightLine& line)
      : line_(line), uses_(line), removed_(line.instructions.size()) {}

  void run() {
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      poll_interruption();
      const std::optional<StraightOperand> sum = sum_of(i);
      if (!sum) continue;
      const auto operands = line_.operands_of(line_.instructions[i]);
      const bool first = is_same_access(operands[TensorTensor::kData1], *sum);
      accumulate(i, *sum, first ? TensorTensor::kData2 : TensorTensor::kData1);
    }
    remove_instances(line_, removed_);
  }

 private:
  /// The tile of PSUM that the instance adds to in place.
  std::optional<StraightOperand> sum_of(uint32_t index) const {
    const StraightInstruction& instance = line_.instructions[index];
    if (instance.instruction.type != &kTensorTensor || instance.instruction.engine_given) return {};
    const auto operands = line_.operands_of(instance);
    const StraightOperand& dst = operands[TensorTensor::kDst];
    const AluOp op = line_.attributes_of(instance)[TensorTensor::kOp].as<AluOp>();
    const bool in_place = is_same_access(dst, operands[TensorTensor::kData1]) !=
                          is_same_access(dst, operands[TensorTensor::kData2]);
    if (op != AluOp::kAdd || !in_place || dst.memory != MemoryKind::kPsum) return {};
    const Operand& pattern = line_.pattern_of(dst);
    const bool is_exact = pattern.dtype == Dtype::kFloat32 && pattern.region.exact;
    if (!is_exact || line_.tile_of(dst).placed) return {};
    return dst;
  }

  /// The instance that fills a tile of which `read` is the only other use, and reads all of.
  std::optional<uint32_t> only_writer(const StraightOperand& read, uint32_t reader) const {
    const std::span<const TileUse> uses = uses_.of(read.tile);
    if (uses.size() != 2 || uses[1].instance != reader || line_.tile_of(read).placed) return {};
    const StraightOperand& written = operand_at(line_, uses[0]);
    const bool same = uses[0].operand == 0 && written.direction == Direction::kWrite &&
                      line_.pattern_of(read).dtype == Dtype::kFloat32 &&
                      is_same_access(written, read);
    return same ? std::optional(uses[0].instance) : std::nullopt;
  }

  void accumulate(uint32_t addition, const StraightOperand& sum, size_t addend) {
    const StraightInstruction& adding = line_.instructions[addition];
    std::optional<uint32_t> product = only_writer(line_.operands_of(adding)[addend], addition);
    std::optional<uint32_t> copy;
    if (product && line_.instructions[*product].instruction.type == &kTensorCopy) {
      copy = product;
      product = only_writer(line_.operands_of(line_.instructions[*copy])[1], *copy);
    }
    if (!product || !is_plain_product(*product) || !is_alone(sum, *product, addition)) return;
    if (!add_to(sum, *product)) return;
    removed_[addition] = true;
    if (copy) removed_[*copy] = true;
    moved_[sum.tile].push_back({*product, NcMatmul::kDst});
  }

  bool is_plain_product(uint32_t index) const {
    const StraightInstruction& instance = line_.instructions[index];
    return instance.instruction.type == &kNcMatmul &&
           !line_.attributes_of(instance)[NcMatmul::kIsTranspose].flag();
  }

  /// Whether nothing touches the sum after the product and before the addition, and whether
  /// everything that is written to the banks of the sum covers it.
  bool is_alone(const StraightOperand& sum, uint32_t product, uint32_t addition) const {
    const Region region = line_.region_of(sum);
    const auto between = [&](const TileUse& use) {
      return use.instance > product && use.instance < addition && !removed_[use.instance] &&
             overlap(line_.region_of(operand_at(line_, use)), region);
    };
    const auto beside = [&](const TileUse& use) {
      if (!operand_at(line_, use).writes()) return false;
      const Region other = line_.region_of(operand_at(line_, use));
      return shares_bank(other, region, line_.tile_of(sum).address) && !covers(other, region);
    };
    const std::span<const TileUse> uses = uses_.of(sum.tile);
    if (std::any_of(uses.begin(), uses.end(), between)) return false;
    if (std::any_of(uses.begin(), uses.end(), beside)) return false;
    const auto moved = moved_.find(sum.tile);
    return moved == moved_.end() ||
           std::none_of(moved->second.begin(), moved->second.end(), between);
  }

  /// Banks are those of a tile that starts at `address`.
  bool shares_bank(const Region& a, const Region& b, int64_t address) const {
    const int64_t bank = line_.architecture->limits.psum_bank.count;
    const auto bank_of = [&](int64_t byte) { return (byte - address) / bank; };
    return bank_of(a.low) <= bank_of(b.high() - 1) && bank_of(b.low) <= bank_of(a.high() - 1);
  }

  bool add_to(const StraightOperand& sum, uint32_t product) {
    StraightInstruction& instance = line_.instructions[product];
    StraightOperand& dst = line_.operands_of(instance)[NcMatmul::kDst];
    const StraightInstruction before = instance;
    const StraightOperand own = dst;
    dst = sum;
    dst.direction = Direction::kReadWrite;
    own_attribute(line_, instance, NcMatmul::kAccumulate) = Attribute::of(Accumulate::kAdd);
    if (renew_demand_if_legal(line_, instance)) return true;
    instance = before;
    dst = own;
    return false;
  }

  StraightLine& line_;
  const TileUses uses_;
  std::vector<bool> removed_;
  std::map<TileId, std::vector<TileUse>> moved_;  ///< products that this pass adds to each tile
};

}  // namespace

void accumulate_products(StraightLine& line) { Accumulation(line).run(); }

}  // namespace neuron_sim
