#pragma once
// A bench for one instruction: tiles in plain memory, operands resolved to Access, one run.
//
//   InstructionBench bench;
//   View data = bench.tile(kSbuf, kBf16, {128, 512}, "data");
//   bench.set(data, values);                          // row-major doubles
//   bench.run(Reciprocal{.dst = dst, .data = data});
//   std::vector<double> result = bench.get(dst);
//
// The states of the engines are there from the start: engine_state(...) names them.
//
// run() chooses the engine and checks as a Program would, and fails the test when a byte outside
// the written operands changes. Addresses must be constant, apart from registers.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "device/instruction/instruction_type.h"
#include "device/operand/engine_state.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {

class InstructionBench {
 public:
  explicit InstructionBench(Architecture architecture = test_architecture())
      : architecture_(std::move(architecture)) {
    for (int i = 0; i < kEngineStateCount; ++i) {
      const View view = engine_state(static_cast<EngineState>(i), 128);
      tile(view.memory(), view.dtype(), view.shape(), view.label());
    }
  }

  Architecture& architecture() { return architecture_; }
  RegisterFile& registers() { return registers_; }

  /// A tile [partitions, free...] on chip (of 128 partitions, padded pitch), or a dense tensor in
  /// HBM.
  View tile(MemoryKind memory, Dtype dtype, std::vector<int64_t> shape, std::string label) {
    Tile tile;
    int64_t row = itemsize(dtype);
    for (size_t i = 1; i < shape.size(); ++i) row *= shape[i];
    bool hbm = memory == MemoryKind::kHbm;
    tile.pitch = hbm ? row : row + 64 + (64 - row % 64) % 64;
    int64_t rows = hbm ? shape[0] : std::max<int64_t>(shape[0], 128);
    tile.bytes.assign(static_cast<size_t>(tile.pitch * rows), std::byte{0xA5});
    tiles_.push_back(std::move(tile));
    std::vector<int64_t> strides(shape.size(), itemsize(dtype));
    for (size_t i = shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[i + 1];
    if (!hbm) strides[0] = 1;
    return View(memory, static_cast<TileId>(tiles_.size() - 1), dtype, std::move(shape),
                std::move(strides), std::move(label));
  }
  /// A tile with these values.
  View tile(MemoryKind memory, Dtype dtype, std::vector<int64_t> shape, std::string label,
            const std::vector<double>& values) {
    View view = tile(memory, dtype, std::move(shape), std::move(label));
    set(view, values);
    return view;
  }

  /// Stores row-major values, rounded to the view's dtype.
  void set(const View& view, const std::vector<double>& values) {
    size_t next = 0;
    for_each_element(resolve(view), [&](std::byte* at) {
      double value = values.at(next++);
      if (is_float(view.dtype())) {
        float single = static_cast<float>(value);
        store_floats(&single, at, view.dtype(), 0, 1);
      } else {
        int64_t integer = static_cast<int64_t>(value);
        store_integers(&integer, at, view.dtype(), 0, 1);
      }
    });
    EXPECT_EQ(next, values.size()) << "values of " << view.label();
  }
  /// Row-major values.
  std::vector<double> get(const View& view) {
    std::vector<double> values;
    for_each_element(resolve(view), [&](std::byte* at) {
      if (is_float(view.dtype())) {
        float single = 0;
        load_floats(at, view.dtype(), 0, &single, 1);
        values.push_back(single);
      } else {
        int64_t integer = 0;
        load_integers(at, view.dtype(), 0, &integer, 1);
        values.push_back(static_cast<double>(integer));
      }
    });
    return values;
  }
  /// Row-major raw bits, zero extended.
  std::vector<uint32_t> bits(const View& view) {
    std::vector<uint32_t> values;
    for_each_element(resolve(view), [&](std::byte* at) {
      uint32_t raw = 0;
      std::memcpy(&raw, at, static_cast<size_t>(itemsize(view.dtype())));
      values.push_back(raw);
    });
    return values;
  }
  void set_bits(const View& view, const std::vector<uint32_t>& values) {
    size_t next = 0;
    for_each_element(resolve(view), [&](std::byte* at) {
      std::memcpy(at, &values.at(next++), static_cast<size_t>(itemsize(view.dtype())));
    });
  }

  /// Gives run() an fp32 copy of this view's tile, as the executor keeps for matmul operands.
  void keep_widened(const View& view) {
    Tile& tile = tile_of(view);
    int64_t count = static_cast<int64_t>(tile.bytes.size()) / itemsize(view.dtype());
    tile.widened.resize(static_cast<size_t>(count));
    load_floats(tile.bytes.data(), view.dtype(), itemsize(view.dtype()), tile.widened.data(),
                count);
  }

  /// The storage of a view. Rows of an indirect view are filled in by run().
  Access resolve(const View& view) {
    Access access;
    if (!view.present()) return access;
    Tile& tile = tile_of(view);
    bool hbm = view.memory() == MemoryKind::kHbm;
    int64_t offset = view.offset().constant();
    if (!hbm) offset += view.partition().constant() * tile.pitch;
    if (view.register_index() >= 0) {
      offset +=
          registers_.values[static_cast<size_t>(view.register_index())] * view.register_scale();
    }
    access.data = tile.bytes.data() + offset;
    access.partitions = static_cast<int32_t>(view.partitions());
    access.partition_stride = view.dimension(0).stride * (hbm ? 1 : tile.pitch);
    access.dtype = view.dtype();
    access.memory = view.memory();
    access.rank = view.rank() - 1;
    for (int i = 0; i < access.rank; ++i) {
      access.free[static_cast<size_t>(i)] = view.dimension(i + 1);
    }
    if (!tile.widened.empty()) {
      access.widened = tile.widened.data() + offset / itemsize(view.dtype());
      access.widened_partition_stride = access.partition_stride / itemsize(view.dtype());
    }
    return access;
  }

  /// The draft with its engine chosen, checked.
  Draft prepare(Draft draft) const {
    const InstructionType& type = *draft.type;
    EXPECT_EQ(type.operands.size(), static_cast<size_t>(draft.operand_count()));
    EXPECT_EQ(type.attributes.size(), static_cast<size_t>(draft.attribute_count()));
    if (draft.engine == EngineKind::kAuto) {
      draft.engine = type.choose_engine(draft, architecture_);
    }
    type.check(draft, architecture_);
    return draft;
  }
  /// The sentence of the KernelError that checking gives, "" when there is none.
  std::string error(const Draft& draft) const {
    try {
      prepare(draft);
    } catch (const KernelError& error) {
      return error.what();
    }
    return "";
  }
  std::optional<ErrorKind> error_kind(const Draft& draft) const {
    try {
      prepare(draft);
    } catch (const KernelError& error) {
      return error.kind();
    }
    return std::nullopt;
  }
  Demand demand(const Draft& draft) const {
    return draft.type->demand(prepare(draft), architecture_);
  }

  /// Chooses the engine, checks and runs; nothing but the written operands may change. The rows of
  /// an indirect operand are the int32 values of the operand whose field name contains "ind".
  void run(const Draft& unprepared) {
    const InstructionType& type = *unprepared.type;
    Draft draft = prepare(unprepared);
    std::vector<Access> operands;
    std::vector<std::vector<std::byte>> before;
    for (int i = 0; i < draft.operand_count(); ++i) operands.push_back(resolve(draft.operand(i)));
    std::vector<int32_t> rows = resolve_rows(type, draft, operands);
    for (const Tile& tile : tiles_) before.push_back(tile.bytes);
    type.run({draft.engine, &architecture_, operands, draft.attributes, &registers_});
    for (size_t i = 0; i < operands.size(); ++i) {
      if (type.operands[i].direction == Direction::kRead || !operands[i].present()) continue;
      const View& view = draft.operand(static_cast<int>(i));
      Tile& tile = tile_of(view);
      size_t index = static_cast<size_t>(view.tile());
      for_each_element(operands[i], [&](std::byte* at) {
        std::memcpy(before[index].data() + (at - tile.bytes.data()), at,
                    static_cast<size_t>(itemsize(operands[i].dtype)));
      });
    }
    for (size_t i = 0; i < tiles_.size(); ++i) {
      EXPECT_TRUE(before[i] == tiles_[i].bytes) << type.name << " wrote outside its operands";
    }
  }

  template <typename Instruction>
  Draft prepare(const Instruction& instruction) const {
    return prepare(instruction.draft());
  }
  template <typename Instruction>
  std::string error(const Instruction& instruction) const {
    return error(instruction.draft());
  }
  template <typename Instruction>
  std::optional<ErrorKind> error_kind(const Instruction& instruction) const {
    return error_kind(instruction.draft());
  }
  template <typename Instruction>
  Demand demand(const Instruction& instruction) const {
    return demand(instruction.draft());
  }
  template <typename Instruction>
  void run(const Instruction& instruction) {
    run(instruction.draft());
  }

 private:
  struct Tile {
    std::vector<std::byte> bytes;
    std::vector<float> widened;
    int64_t pitch = 0;
  };

  Tile& tile_of(const View& view) { return tiles_.at(static_cast<size_t>(view.tile())); }

  static void for_each_element(const Access& access, const std::function<void(std::byte*)>& visit) {
    std::array<Dimension, kMaximumFreeDimensions> free{};
    for (int i = 0; i < access.rank; ++i) {
      free[static_cast<size_t>(i)] = access.free[static_cast<size_t>(i)];
    }
    for (int64_t p = 0; p < access.partitions; ++p) {
      if (access.rows != nullptr && access.rows[p] < 0) continue;
      for (int64_t a = 0; a < free[0].size; ++a)
        for (int64_t b = 0; b < free[1].size; ++b)
          for (int64_t c = 0; c < free[2].size; ++c)
            for (int64_t d = 0; d < free[3].size; ++d)
              visit(access.partition(p) + a * free[0].stride + b * free[1].stride +
                    c * free[2].stride + d * free[3].stride);
    }
  }

  std::vector<int32_t> resolve_rows(const InstructionType& type, const Draft& draft,
                                    std::vector<Access>& operands) {
    std::vector<int32_t> rows;
    for (int i = 0; i < draft.operand_count(); ++i) {
      std::string name = type.operands[static_cast<size_t>(i)].name;
      if (name.find("ind") == std::string::npos || !draft.operand(i).present()) continue;
      const std::vector<double> values = get(draft.operand(i));  // index.T.flatten()
      const size_t columns = static_cast<size_t>(draft.operand(i).free_elements());
      for (size_t column = 0; column < columns; ++column) {
        for (size_t at = column; at < values.size(); at += columns) {
          rows.push_back(static_cast<int32_t>(values[at]));
        }
      }
    }
    for (int i = 0; i < draft.operand_count(); ++i) {
      if (draft.operand(i).is_indirect()) operands[static_cast<size_t>(i)].rows = rows.data();
    }
    return rows;
  }

  Architecture architecture_;
  RegisterFile registers_;
  std::vector<Tile> tiles_;
};

/// A bench with one instruction, whose operands a test chooses.
template <typename Instruction>
struct InstructionTiles {
  InstructionBench bench;
  Instruction instruction;

  /// What the instruction writes to `dst`.
  std::vector<double> run() {
    bench.run(instruction);
    return bench.get(instruction.dst);
  }
  std::string error() const { return bench.error(instruction); }
  Step step() const { return bench.demand(instruction).steps[0]; }
  std::vector<double> registers(int64_t partitions) {
    return bench.get(engine_state(EngineState::kVectorAccumulator, partitions));
  }
};

}  // namespace neuron_sim
