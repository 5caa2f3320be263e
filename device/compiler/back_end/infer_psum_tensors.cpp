#include "device/compiler/back_end/infer_psum_tensors.h"

#include "device/compiler/tiles/live_bytes.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_tensor.h"

namespace neuron_sim {
namespace {

/// Whether Vector takes longer for two tiles in SBUF than for one of them in PSUM.
bool pays(const StraightLine& line, const StraightInstruction& reader) {
  const Rates& rates = line.architecture->rates;
  const Demand& demand = line.demands[reader.instruction.demand];
  return demand.steps[0].rate == RateClass::kTwoInputs &&
         rates[RateClass::kTwoInputs] > rates[RateClass::kTwoInputsPsum];
}

class PsumTensors {
 public:
  explicit PsumTensors(StraightLine& line)
      : line_(line), uses_(line), banks_(live_banks(line, uses_)) {}

  void run() {
    for (uint32_t i = 0; i + 1 < line_.instructions.size(); ++i) {
      if (is_candidate(i)) move(i);
    }
  }

 private:
  StraightInstruction& at(uint32_t instance) { return line_.instructions[instance]; }

  /// Whether the instance fills a tile that only the next one reads, once.
  bool is_candidate(uint32_t writer) {
    const Instruction& first = at(writer).instruction;
    const Instruction& second = at(writer + 1).instruction;
    if (first.type != &kActivation || first.engine != EngineKind::kScalar) return false;
    if (second.type != &kTensorTensor || second.engine != EngineKind::kVector) return false;
    const Operand& result = line_.operands_of(at(writer))[Activate::kDst];
    const Tile& tile = line_.tile_of(result);
    const std::span<const TileUse> uses = uses_.of(result.tile);
    if (uses.size() != 2 || uses[1].instance != writer + 1) return false;
    return tile.memory == MemoryKind::kSbuf && !tile.placed &&
           tile.bytes <= line_.architecture->limits.psum_bank.count &&
           operand_at(line_, uses[1]).direction == Direction::kRead && pays(line_, at(writer + 1));
  }

  /// The tile of a candidate, when a bank is free for it and both instructions reach PSUM.
  void move(uint32_t writer) {
    const TileId tile = line_.operands_of(at(writer))[Activate::kDst].tile;
    if (banks_.largest(writer, writer + 1) >= line_.architecture->limits.psum_banks) return;
    set_memory(tile, MemoryKind::kPsum);
    if (!is_legal(line_, at(writer)) || !is_legal(line_, at(writer + 1))) {
      set_memory(tile, MemoryKind::kSbuf);
      return;
    }
    banks_.add(writer, writer + 1, 1);
    renew_demand(line_, at(writer));
    renew_demand(line_, at(writer + 1));
  }

  void set_memory(TileId id, MemoryKind memory) {
    line_.tiles[static_cast<size_t>(id)].memory = memory;
    for (const TileUse& use : uses_.of(id)) operand_at(line_, use).memory = memory;
  }

  StraightLine& line_;
  const TileUses uses_;
  LiveBytes banks_;
};

}  // namespace

void infer_psum_tensors(StraightLine& line) { PsumTensors(line).run(); }

}  // namespace neuron_sim
