#pragma once
// Runs programs on host arrays, and the oracle: a plain interpretation in program order that knows
// neither plans, nor graphs, nor fp32 copies.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "device/execute/executor.h"
#include "device/execute/run_instance.h"
#include "device/isa/dma/dma_copy.h"
#include "device/numerics/dtype.h"

namespace neuron_sim {

/// Host memory of a program's arguments and of its cores.
class ProgramRun {
 public:
  explicit ProgramRun(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    for (size_t core = 0; core < program_->cores.size(); ++core) {
      memories_.push_back(std::make_unique<CoreMemory>(*program_->architecture, program_->sbuf_peak,
                                                       program_->psum_peak));
    }
    for (const Argument& argument : program_->arguments) {
      storage_.emplace_back(static_cast<size_t>(argument.bytes));
    }
  }

  const Program& program() const { return *program_; }
  CoreMemory& memory(size_t core = 0) { return *memories_.at(core); }
  std::vector<std::byte*> arguments() {
    std::vector<std::byte*> result;
    for (auto& bytes : storage_) result.push_back(bytes.data());
    return result;
  }
  template <typename Element>
  Element* data(size_t argument) {
    return reinterpret_cast<Element*>(storage_.at(argument).data());
  }
  const std::vector<std::vector<std::byte>>& bytes() const { return storage_; }

  /// Floats between -2 and 2 in all arguments.
  void randomise(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < storage_.size(); ++i) {
      const Dtype dtype = program_->arguments[i].dtype;
      const auto size = static_cast<size_t>(itemsize(dtype));
      for (size_t at = 0; at + size <= storage_[i].size(); at += size) {
        const float value = static_cast<float>(random() % 4096) / 1024 - 2;
        store_floats(&value, storage_[i].data() + at, dtype, 0, 1);
      }
    }
  }

  ControlLog execute(const ExecutionPlan& plan, ThreadPool& pool) {
    const std::vector<std::byte*> addresses = arguments();
    std::vector<CoreMemory*> memories;
    for (const auto& memory : memories_) memories.push_back(memory.get());
    return neuron_sim::execute(*program_, plan, memories, addresses, pool);
  }

  /// All bytes of all on-chip tiles.
  std::vector<std::byte> on_chip() const {
    std::vector<std::byte> result;
    for (const Tile& tile : program_->tiles) {
      if (tile.memory != MemoryKind::kSbuf && tile.memory != MemoryKind::kPsum) continue;
      for (int64_t p = 0; p < tile.partitions; ++p) {
        const std::byte* row =
            memories_[tile.core]->at(tile.memory, tile.start_partition + p, tile.address);
        result.insert(result.end(), row, row + tile.bytes);
      }
    }
    return result;
  }

  /// The oracle, for one core. `fill`: tiles that start with the pattern of uninitialised memory.
  void interpret(const std::vector<TileId>& fill) {
    for (const TileId id : fill) {
      const Tile& tile = program_->tiles[static_cast<size_t>(id)];
      const int size = itemsize(tile.dtype);
      for (int64_t p = 0; p < tile.partitions; ++p) {
        fill_uninitialised(memory().at(tile.memory, tile.start_partition + p, tile.address),
                           tile.dtype, size, tile.bytes / size);
      }
    }
    for (const Block& block : program_->cores) interpret(block);
  }

 private:
  void interpret(const Block& block) {
    for (const Node& node : block) {
      if (node.kind == Node::Kind::kInstruction) {
        interpret(program_->instructions[node.index]);
        continue;
      }
      const Loop& loop = program_->loops[node.index];
      for (int64_t i = 0; i < loop.trip_count; ++i) {
        variables_[static_cast<size_t>(loop.level)] = i;
        interpret(loop.body);
      }
    }
  }

  void interpret(const Instruction& instruction) {
    std::vector<Access> accesses;
    for (const Operand& operand : program_->operands_of(instruction)) {
      accesses.push_back(resolve(operand));
    }
    accesses.resize(instruction.type->operands.size());  // the absent ones after the last
    instruction.type->run({instruction.engine, program_->architecture, accesses,
                           program_->attributes_of(instruction), &registers_});
  }

  Access resolve(const Operand& operand) {
    Access access;
    if (!operand.present()) return access;
    int64_t offset = operand.offset, partition = operand.start_partition, turn = operand.ring_start;
    for (uint32_t i = 0; i < operand.term_count; ++i) {
      const Term& term = program_->terms[operand.first_term + i];
      const int64_t variable = variables_[static_cast<size_t>(term.level)];
      offset += variable * term.offset_step;
      partition += variable * term.partition_step;
      turn += variable * term.ring_step;
    }
    turn = ((turn % operand.ring) + operand.ring) % operand.ring;
    access.dtype = operand.dtype;
    access.memory = operand.memory;
    access.partitions = operand.partitions;
    access.rank = operand.rank;
    access.free = operand.free;
    if (operand.memory == MemoryKind::kHbm) {
      const Tile& tile = program_->tiles[static_cast<size_t>(operand.tile)];
      access.data = storage_.at(static_cast<size_t>(tile.argument)).data() + offset;
      access.partition_stride = operand.partition_stride;
    } else {
      access.data = memory().at(operand.memory, partition, offset + turn * operand.ring_stride);
      access.partition_stride = operand.partition_stride * memory().pitch(operand.memory);
    }
    return access;
  }

  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<CoreMemory>> memories_;
  std::vector<std::vector<std::byte>> storage_;
  std::array<int64_t, kMaximumLoopDepth> variables_{};
  RegisterFile registers_;
};

/// Whether the plan leaves the bytes of an interpretation in program order in the arguments.
inline bool is_like_interpretation(const std::shared_ptr<const Program>& program,
                                   const ExecutionPlan& plan, uint64_t seed, int threads = 1) {
  ProgramRun oracle(program), run(program);
  oracle.randomise(seed);
  run.randomise(seed);
  oracle.interpret(plan.fill);
  ThreadPool pool(threads);
  run.execute(plan, pool);
  return run.bytes() == oracle.bytes();
}

/// Transfers to a memory that need not run, after a comparison with an interpretation.
inline int64_t omitted_transfers(const std::shared_ptr<const Program>& program, MemoryKind memory) {
  const ExecutionPlan plan = make_plan(*program);
  EXPECT_TRUE(plan.resolved);
  EXPECT_TRUE(is_like_interpretation(program, plan, 3));
  const auto is_counted = [&](const Instruction& instruction) {
    return instruction.type == &kDmaCopy &&
           program->operands_of(instruction)[DmaCopy::kDst].memory == memory;
  };
  return std::ranges::count_if(program->instructions, is_counted) -
         std::ranges::count_if(plan.graph.instances, [&](const PlannedInstance& instance) {
           return is_counted(program->instructions[instance.instruction]);
         });
}

}  // namespace neuron_sim
