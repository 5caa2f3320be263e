#pragma once
// What tests of forward_stores share: kernels that hand rows on in HBM, and what the pass left.

#include <string>

#include "device/builder/builder.h"
#include "device/compiler/middle_end/elide_psum_copies.h"
#include "device/compiler/middle_end/forward_stores.h"
#include "device/isa/dma/dma_copy.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {

/// Writes kernels with arguments "in" and "out", as many as asked for.
class TransferKernel {
 public:
  static constexpr int64_t kPartitions = 128;

  Builder builder{"transfers", load_architecture("trn2")};

  View tile(const std::vector<int64_t>& shape, Dtype dtype = Dtype::kFloat32) {
    return builder.sbuf("tile", shape, dtype);
  }
  View tile(int64_t columns) { return tile({kPartitions, columns}); }
  /// A tile with the values of a new argument.
  View input(const std::vector<int64_t>& shape, Dtype dtype = Dtype::kFloat32) {
    const View filled = tile(shape, dtype);
    copy(filled, builder.argument("in", shape, dtype));
    return filled;
  }
  View input(int64_t columns) { return input({kPartitions, columns}); }
  /// Stores the tile to a new argument.
  void output(const View& values) {
    copy(builder.argument("out", values.shape(), values.dtype()), values);
  }
  /// The scratch tensor that the transfers that are counted store to and load.
  View scratch(const std::vector<int64_t>& shape, Dtype dtype = Dtype::kFloat32) {
    return builder.scratch("between", shape, dtype);
  }
  View scratch(int64_t columns) { return scratch({kPartitions, columns}); }
  void copy(const View& to, const View& from) { builder.emit(DmaCopy{.dst = to, .src = from}); }
  /// A new tile of the shape of `from`, loaded from it.
  View loaded(const View& from) {
    const View values = tile(from.shape(), from.dtype());
    copy(values, from);
    return values;
  }
  std::shared_ptr<const Program> finish() { return builder.finish(); }
};

/// Transfers to and from tensors called "between", and copies within SBUF.
struct TransfersLeft {
  int64_t stores = 0, loads = 0, copies = 0;
  bool operator==(const TransfersLeft&) const = default;
};
inline void PrintTo(const TransfersLeft& left, std::ostream* out) {
  *out << left.stores << " stores, " << left.loads << " loads, " << left.copies << " copies";
}

inline TransfersLeft transfers_of(const StraightLine& line) {
  TransfersLeft left;
  for (const StraightInstruction& instance : line.instructions) {
    left.copies += instance.instruction.type->name == "tensor_copy";
    if (instance.instruction.type != &kDmaCopy) continue;
    left.stores += line.tile_of(line.operands_of(instance)[0]).label == "between";
    left.loads += line.tile_of(line.operands_of(instance)[1]).label == "between";
  }
  return left;
}

enum class Copies { kStay, kEliminated };

/// What forward_stores leaves of the program, whose bytes stay.
inline TransfersLeft forwarded(const std::shared_ptr<const Program>& program,
                               Copies copies = Copies::kStay) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "forward_stores");
  if (copies == Copies::kEliminated) run_pass(line, "eliminate_copies");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return transfers_of(line);
}

}  // namespace neuron_sim
