#include "device/execute/eager_run.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/execute/run_instance.h"
#include "device/memory/slot_allocator.h"

namespace neuron_sim {
namespace {

bool is_tile(const Tile& tile) {
  return tile.memory == MemoryKind::kSbuf || tile.memory == MemoryKind::kPsum;
}

void copy_rows(const CoreMemory& from, const CoreMemory& to, MemoryKind memory, int64_t partitions,
               int64_t bytes) {
  for (int64_t p = 0; p < partitions; ++p) {
    std::memcpy(to.at(memory, p, 0), from.at(memory, p, 0), static_cast<size_t>(bytes));
  }
}

}  // namespace

EagerRun::EagerRun(std::shared_ptr<const Program> program) : program_(std::move(program)) {
  const Limits& limits = program_->architecture->limits;
  sbuf_.step = SlotAllocator::rounded(1);
  sbuf_.end = SlotAllocator::rounded(limits.sbuf_partition.count);
  psum_.step = limits.psum_bank.count;
  psum_.end = limits.psum_banks * psum_.step;
}

void EagerRun::bind(size_t argument, std::byte* data) { bound_[argument] = data; }

void EagerRun::adopt() {
  const size_t known = bases_.size();
  for (size_t i = known; i < program_->tiles.size(); ++i) give_bytes(i);
  if (known == bases_.size()) return;
  grow();
  for (size_t i = known; i < program_->tiles.size(); ++i) fill(i);
  std::vector<std::byte*> scratch;
  addresses_.clear();
  for (const Tile& tile : program_->tiles) {
    if (tile.argument >= 0) addresses_.push_back(tensor(tile));
    if (tile.scratch >= 0) scratch.push_back(tensor(tile));
  }
  addresses_.insert(addresses_.end(), scratch.begin(), scratch.end());
}

void EagerRun::give_bytes(size_t tile) {
  const Tile& given = program_->tiles[tile];
  if (!is_tile(given) || given.placed) {
    bases_.push_back(0);
    return;
  }
  Space& space = this->space(given.memory);
  // The tiles of a ring lie one after the other: only the first one's address is 0.
  const int64_t base = given.address == 0 ? space.end : bases_.back();
  const int64_t end = base + given.address + given.bytes;
  space.end = std::max(space.end, (end + space.step - 1) / space.step * space.step);
  bases_.push_back(base);
}

/// Memory for all tiles; it doubles, so that the copies cost no more than the run.
void EagerRun::grow() {
  if (memory_ != nullptr && sbuf_.end <= sbuf_size_ && psum_.end <= psum_size_) return;
  const int64_t sbuf = std::max(sbuf_.end * 2, sbuf_size_);
  const int64_t psum = std::max(psum_.end * 2, psum_size_);
  auto larger = std::make_unique<CoreMemory>(*program_->architecture, sbuf, psum);
  if (memory_ != nullptr) {
    const int64_t partitions = program_->architecture->limits.partitions;
    copy_rows(*memory_, *larger, MemoryKind::kSbuf, partitions, sbuf_size_);
    copy_rows(*memory_, *larger, MemoryKind::kPsum, partitions, psum_size_);
    for (const Tile& tile : program_->tiles) {  // the states of the engines
      if (tile.memory != MemoryKind::kAccumulator && tile.memory != MemoryKind::kRandomState) {
        continue;
      }
      for (int64_t p = 0; p < tile.partitions; ++p) {
        const int64_t at = tile.start_partition + p;
        std::memcpy(larger->at(tile.memory, at, tile.address),
                    memory_->at(tile.memory, at, tile.address), static_cast<size_t>(tile.bytes));
      }
    }
  }
  memory_ = std::move(larger);
  sbuf_size_ = sbuf;
  psum_size_ = psum;
}

/// The pattern of uninitialised memory, but not where a tile placed by hand overlaps others.
void EagerRun::fill(size_t tile) {
  Tile moved = program_->tiles[tile];
  if (!is_tile(moved)) return;
  moved.address += bases_[tile];
  if (moved.placed) {
    auto& placed = space(moved.memory).placed;
    const int64_t end = moved.address + moved.bytes;
    const bool is_fresh = std::none_of(placed.begin(), placed.end(), [&](const auto& other) {
      return other.first < end && moved.address < other.second;
    });
    int64_t& its_end = placed[moved.address];
    its_end = std::max(its_end, end);
    if (!is_fresh) return;
  }
  const std::array<CoreMemory*, 1> memories{memory_.get()};
  InstanceRunner(*program_, memories, {}).fill(moved);
}

std::byte* EagerRun::tensor(const Tile& tile) {
  if (tile.argument >= 0) {
    const auto bound = bound_.find(static_cast<size_t>(tile.argument));
    if (bound != bound_.end()) return bound->second;
  }
  const auto id = static_cast<TileId>(&tile - program_->tiles.data());
  const auto [entry, is_new] = tensors_.try_emplace(id, static_cast<size_t>(tile.bytes));
  std::byte* const data = entry->second.data();
  if (is_new && tile.scratch >= 0) {
    const int size = itemsize(tile.dtype);
    fill_uninitialised(data, tile.dtype, size, tile.bytes / size);
  }
  return data;
}

void EagerRun::check(const Instruction& instruction) const {
  const InstructionType& type = *instruction.type;
  const auto refuse = [&](std::string_view why) {
    fail(text("'", type.name, "' of kernel '", program_->kernel, "' ", why,
              ", which eager execution does not support; run the kernel without it."));
  };
  if (instruction.core != 0 || meets_other_core(type.synchronises)) refuse("needs several cores");
  if (!program_->loops.empty()) refuse("is in or after a loop on chip");
  for (const Operand& operand : program_->operands_of(instruction)) {
    if (operand.register_index >= 0) refuse("has an address in a register");
  }
  const auto attributes = program_->attributes_of(instruction);
  for (size_t i = 0; i < attributes.size(); ++i) {
    const bool is_register = type.attributes[i].kind == AttributeKind::kRegister;
    if (is_register && attributes[i].integer() >= 0) refuse("uses a register");
  }
}

void EagerRun::run(const Instruction& instruction) {
  std::array<Location, kMaximumOperands> locations;
  const auto operands = program_->operands_of(instruction);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present()) continue;
    locations[i] = locate(*program_, operands[i], nullptr, nullptr);
    locations[i].offset += bases_[static_cast<size_t>(locations[i].tile)];
  }
  const std::array<CoreMemory*, 1> memories{memory_.get()};
  InstanceRunner runner(*program_, memories, addresses_);
  runner.join({&alone_, 0});
  runner.run(instruction, locations.data());
}

void EagerRun::advance() {
  adopt();
  while (done_ < program_->instructions.size()) {
    poll_interruption();
    const Instruction& instruction = program_->instructions[done_++];
    check(instruction);
    run(instruction);
  }
}

std::vector<std::byte> EagerRun::contents(TileId id) {
  advance();
  const Tile& tile = program_->tiles[static_cast<size_t>(id)];
  const auto bytes = static_cast<size_t>(tile.bytes);
  if (tile.memory == MemoryKind::kHbm) {
    const std::byte* const data =
        tile.constant >= 0 ? program_->constants[static_cast<size_t>(tile.constant)].data()
                           : tensor(tile);
    return {data, data + bytes};
  }
  std::vector<std::byte> result;
  for (int64_t p = 0; p < tile.partitions; ++p) {
    const std::byte* const row = memory_->at(tile.memory, tile.start_partition + p,
                                             tile.address + bases_[static_cast<size_t>(id)]);
    result.insert(result.end(), row, row + bytes);
  }
  return result;
}

}  // namespace neuron_sim
