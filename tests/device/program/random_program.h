#pragma once
// Random but legal programs: rings, several queues, nested loops, products, vector work, windows
// that follow a loop variable. The same seed gives the same program.

#include <memory>
#include <random>
#include <vector>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {

struct RandomProgramOptions {
  int64_t shortest_loop = 2, longest_loop = 6;
  int64_t blocks = 1000;  ///< blocks of an HBM tensor that loops walk through
  int depth = 2;
  int statements = 6;           ///< of the outermost block and, about, of each loop
  int matmul_share = 20;        ///< percent
  int dma_share = 30;           ///< percent
  int moving_windows = 10;      ///< percent of operands whose on-chip address follows a variable
  bool undefined_reads = true;  ///< else every tile is set before the first loop
};

class RandomProgram {
 public:
  RandomProgram(uint64_t seed, const Architecture& architecture,
                const RandomProgramOptions& options)
      : random_(seed), options_(options), builder_("random", architecture) {}

  static constexpr int64_t kPartitions = 128, kWidth = 96;

  std::shared_ptr<const Program> build() {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16}) {
      inputs_.push_back(builder_.argument("input", {options_.blocks, kPartitions, kWidth}, dtype));
      outputs_.push_back(
          builder_.argument("output", {options_.blocks, kPartitions, kWidth}, dtype));
      for (int i = pick(1, 3); i > 0; --i) {
        tiles_.push_back(builder_.sbuf("tile", {kPartitions, kWidth}, dtype, pick(1, 4)));
      }
    }
    for (int i = pick(1, 2); i > 0; --i) {
      sums_.push_back(builder_.psum("sum", {kPartitions, kWidth}, Dtype::kFloat32, pick(1, 2)));
    }
    if (!options_.undefined_reads) set_all();
    block(options_.depth);
    return builder_.finish();
  }

 private:
  struct Open {
    Affine variable;
    int64_t trips;
  };

  int pick(int64_t low, int64_t high) {
    return static_cast<int>(
        low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1)));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  const View& one_of(const std::vector<View>& views) {
    return views[static_cast<size_t>(pick(0, static_cast<int64_t>(views.size()) - 1))];
  }

  void set_all() {
    for (const std::vector<View>* views : {&tiles_, &sums_}) {
      for (const View& view : *views) {
        for (int i = 0; i < view.ring(); ++i) {
          builder_.emit(Memset{.dst = view.turn(i), .value = 0.5});
        }
      }
    }
  }

  void block(int depth) {
    for (int i = pick(2, options_.statements); i > 0; --i) {
      if (depth > 0 && chance(i == 1 ? 90 : 25)) {
        const int64_t trips = pick(options_.shortest_loop, options_.longest_loop);
        builder_.loop(trips, [&](const Affine& variable) {
          open_.push_back({variable, trips});
          block(depth - 1);
          open_.pop_back();
        });
        continue;
      }
      try {
        statement();
      } catch (const KernelError&) {
        // Not legal: nothing was emitted.
      }
    }
  }

  /// A combination of the open loops' variables.
  Affine turns() {
    Affine result = pick(0, 3);
    for (const Open& open : open_) {
      if (chance(70)) result += open.variable * pick(1, 2);
    }
    return result;
  }

  /// First element of `size` out of `all`, sometimes following a loop's variable.
  Affine start_of(int64_t size, int64_t all, int percent) {
    const int64_t room = all - size;
    if (!open_.empty() && chance(percent)) {
      const Open& open =
          open_[static_cast<size_t>(pick(0, static_cast<int64_t>(open_.size()) - 1))];
      const int64_t step = room / open.trips;
      if (step > 0) return open.variable * pick(1, std::min<int64_t>(step, 9));
    }
    return chance(60) ? 0 : pick(0, room);
  }

  View window(const View& tile, int64_t start_partition, int64_t partitions, int64_t width) {
    return tile.turn(turns())
        .slice(0, start_partition, partitions)
        .slice(1, start_of(width, kWidth, options_.moving_windows), width);
  }

  View block_of(const View& tensor, int64_t partitions, int64_t width) {
    return tensor.select(0, start_of(1, options_.blocks, 70))
        .slice(0, pick(0, kPartitions - partitions), partitions)
        .slice(1, chance(70) ? 0 : pick(0, kWidth - width), width);
  }

  void statement() {
    const int kind = pick(1, 100);
    const int64_t width = chance(30) ? kWidth : pick(1, kWidth);
    if (kind <= options_.matmul_share) {
      matmul(width);
    } else if (kind <= options_.matmul_share + options_.dma_share) {
      transfer(width);
    } else {
      elementwise(width);
    }
  }

  void matmul(int64_t width) {
    const int64_t depth = chance(60) ? kPartitions : 32;
    const int64_t columns = pick(1, kWidth);
    const View& stationary = one_of(tiles_);
    const View& moving = one_of(tiles_);
    for (int i = pick(1, 3); i > 0; --i) {
      builder_.emit(
          NcMatmul{.dst = one_of(sums_)
                              .turn(turns())
                              .slice(0, 0, columns)
                              .slice(1, start_of(width, kWidth, options_.moving_windows), width),
                   .stationary = window(stationary, 0, depth, columns),
                   .moving = window(moving, 0, depth, width),
                   .accumulate = chance(50)});
    }
  }

  void transfer(int64_t width) {
    const int64_t partitions = chance(50) ? kPartitions : pick(1, kPartitions);
    const size_t dtype = static_cast<size_t>(pick(0, 1));
    const View tile = window(one_of(tiles_), 0, partitions, width);
    DmaCopy copy;
    if (chance(40)) copy.engine = chance(50) ? EngineKind::kGpSimd : EngineKind::kScalar;
    if (chance(10)) copy.engine = EngineKind::kTensor;
    if (chance(55)) {
      copy.dst = tile;
      copy.src = block_of(inputs_[dtype], partitions, width);
    } else {
      copy.dst = block_of(outputs_[dtype], partitions, width);
      copy.src = tile;
    }
    builder_.emit(copy);
  }

  void elementwise(int64_t width) {
    const int64_t partitions = chance(50) ? kPartitions : 32;
    const int64_t start = partitions == 32 ? 32 * pick(0, 3) : 0;
    const auto operand = [&] {
      return window(one_of(chance(25) ? sums_ : tiles_), start, partitions, width);
    };
    const EngineKind engine = chance(25) ? EngineKind::kGpSimd : EngineKind::kVector;
    const View dst = operand(), first = operand(), second = operand();
    switch (pick(0, 5)) {
      case 0: builder_.emit(TensorTensor{dst, first, second, AluOp::kAdd, engine}); break;
      case 1: builder_.emit(TensorTensor{dst, first, second, AluOp::kMultiply, engine}); break;
      case 2: builder_.emit(TensorCopy{dst, first, engine}); break;
      case 3:
        builder_.emit(TensorScalar{.dst = dst,
                                   .data = first,
                                   .operand0 = {},
                                   .operand1 = {},
                                   .constant0 = 1.5,
                                   .engine = engine});
        break;
      case 4: builder_.emit(Memset{dst, 0.25, engine}); break;
      default:
        builder_.emit(Activate{.dst = dst,
                               .data = first,
                               .op = chance(50) ? Activation::kIdentity : Activation::kExp,
                               .scale = 0.5});
    }
  }

  std::mt19937_64 random_;
  RandomProgramOptions options_;
  Builder builder_;
  std::vector<View> inputs_, outputs_, tiles_, sums_;
  std::vector<Open> open_;
};

}  // namespace neuron_sim
