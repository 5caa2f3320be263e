#include "device/compiler/back_end/spill.h"

#include <gtest/gtest.h>

#include <functional>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/observe/program_counters.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
constexpr int64_t kTile = 128 * 1024;  ///< bytes of a tile [128, 256] of fp32: 1 KiB a partition

/// trn2 with SBUF of that many KiB per partition and PSUM of that many banks.
Architecture with_memory(int64_t kibibytes, int64_t banks = 8) {
  Architecture architecture = load_architecture("trn2");
  architecture.limits.sbuf_usable = Bytes{1024 * kibibytes};
  architecture.limits.psum_banks = banks;
  return architecture;
}

/// A kernel of tiles [128, 256], with arguments "in" and "out" of `rows` such tiles.
struct Kernel {
  Kernel(const Architecture& architecture, int64_t rows)
      : builder("kernel", architecture, TilePlacement::kAutomatic),
        in(builder.argument("in", {rows, 128, 256}, kFloat)),
        out(builder.argument("out", {rows, 128, 256}, kFloat)) {}

  View tile(const std::string& label) { return builder.sbuf(label, {128, 256}, kFloat); }
  View loaded(int64_t row) {
    const View result = tile("loaded");
    builder.emit(DmaCopy{.dst = result, .src = in.select(0, row)});
    return result;
  }
  View doubled(const View& tile) {
    const View result = this->tile("doubled");
    builder.emit(TensorTensor{result, tile, tile, AluOp::kAdd, EngineKind::kVector});
    return result;
  }
  void store(int64_t row, const View& tile) {
    builder.emit(DmaCopy{.dst = out.select(0, row), .src = tile});
  }
  std::shared_ptr<const Program> finish() { return builder.finish(Overflow::kSpilled); }

  Builder builder;
  View in, out;
};

using Source = std::function<std::shared_ptr<const Program>(const Architecture&)>;

/// Tiles that are all computed before the first one is used.
Source computed_first(int64_t rows) {
  return [rows](const Architecture& architecture) {
    Kernel kernel(architecture, rows);
    std::vector<View> tiles;
    for (int64_t row = 0; row < rows; ++row) tiles.push_back(kernel.doubled(kernel.loaded(row)));
    for (int64_t row = 0; row < rows; ++row) kernel.store(row, tiles[static_cast<size_t>(row)]);
    return kernel.finish();
  };
}

/// Tiles that are loaded, and used twice with all others in between.
Source loaded_first(int64_t rows) {
  return [rows](const Architecture& architecture) {
    Kernel kernel(architecture, rows);
    std::vector<View> tiles;
    for (int64_t row = 0; row < rows; ++row) tiles.push_back(kernel.loaded(row));
    for (int64_t row = 0; row < rows; ++row) {
      kernel.store(row, kernel.doubled(tiles[static_cast<size_t>(row)]));
    }
    return kernel.finish();
  };
}

const PassSettings kBackEnd{{"rename_buffers", 1}, {"schedule", 1}};

/// The compiled kernel on the small chip, after a comparison with the ample one: the same bytes,
/// and as much more traffic with HBM as is spilled.
std::shared_ptr<const Program> compared(const Source& source, const Architecture& small) {
  const Architecture ample = with_memory(190, 64);
  const auto expected = source(ample);
  EXPECT_EQ(expected->overflow, "");
  const auto program = source(small);
  EXPECT_NE(program->overflow, "");
  const auto compiled = compile(program, kBackEnd).program;
  EXPECT_EQ(bytes_after(program), bytes_after(expected));
  EXPECT_EQ(bytes_after(compiled), bytes_after(expected));
  EXPECT_LE(compiled->sbuf_peak, small.limits.sbuf_usable.count);
  EXPECT_LE(compiled->psum_peak, small.limits.psum_banks * small.limits.psum_bank.count);
  const Traffic without = program_counters(*compile(expected, kBackEnd).program).hbm;
  const Traffic with = program_counters(*compiled).hbm;
  const Spills& spills = compiled->spills;
  EXPECT_EQ(with.written - without.written, spills.save_bytes);
  EXPECT_EQ(with.read - without.read, spills.reload_bytes + spills.repeated_bytes);
  return compiled;
}

TEST(Spill, TilesBeyondTheLastByteOfSbufAreSavedAndReloaded) {
  const Source source = computed_first(10);
  EXPECT_EQ(source(with_memory(11))->overflow, "");
  const auto compiled = compared(source, with_memory(10));
  EXPECT_EQ(compiled->spills.saves, 1);
  EXPECT_EQ(compiled->spills.save_bytes, kTile);
  EXPECT_EQ(compiled->spills.reload_bytes, kTile);
  EXPECT_EQ(compared(source, with_memory(4))->spills.save_bytes, 7 * kTile);
}

TEST(Spill, LoadsOfTensorsThatNothingWritesAreRepeatedNotSaved) {
  const auto compiled = compared(loaded_first(10), with_memory(8));
  EXPECT_EQ(compiled->spills.saves, 0);
  EXPECT_EQ(compiled->spills.reloads, 0);
  EXPECT_EQ(program_counters(*compiled).hbm.read, 10 * kTile);  // none happens before it is needed
}

TEST(Spill, AnInitialValueIsSetBeforeItsFirstUse) {
  const auto compiled = compared(
      [](const Architecture& architecture) {
        Kernel kernel(architecture, 10);
        std::vector<View> sums;
        for (int64_t row = 0; row < 10; ++row) {
          sums.push_back(kernel.tile("sum"));
          kernel.builder.emit(Memset{sums.back(), 1});
        }
        for (int64_t row = 0; row < 10; ++row) {
          const View& sum = sums[static_cast<size_t>(row)];
          kernel.builder.emit(TensorTensor{sum, sum, kernel.loaded(row), AluOp::kAdd});
          kernel.store(row, sum);
        }
        return kernel.finish();
      },
      with_memory(3));
  EXPECT_EQ(instructions_named(*compiled, "memset").size(), 10U);
  EXPECT_FALSE(compiled->spills.saves + compiled->spills.reloads + compiled->spills.psum_copies);
}

TEST(Spill, SumsInPsumContinueAfterTheirBankServedAnother) {
  const auto compiled = compared(
      [](const Architecture& architecture) {
        Kernel kernel(architecture, 6);
        std::vector<View> sums;
        const View left = kernel.loaded(0).slice(1, 0, 128);
        View right = kernel.loaded(1);
        for (int round = 0; round < 2; ++round) {
          for (size_t i = 0; i < 4; ++i) {
            if (round == 0) sums.push_back(kernel.builder.psum("sum", {128, 256}));
            kernel.builder.emit(NcMatmul{
                .dst = sums[i], .stationary = left, .moving = right, .accumulate = round > 0});
          }
          for (const View& sum : sums) {  // what is added to each depends on all of them
            const View mixed = kernel.tile("mixed");
            kernel.builder.emit(TensorTensor{mixed, right, sum, AluOp::kAdd});
            right = mixed;
          }
        }
        for (size_t i = 0; i < 4; ++i) {
          const View copy = kernel.tile("copy");
          kernel.builder.emit(TensorCopy{copy, sums[i]});
          kernel.store(static_cast<int64_t>(i), copy);
        }
        return kernel.finish();
      },
      with_memory(20, 2));
  EXPECT_GT(compiled->spills.psum_copies, 0);
  EXPECT_EQ(compiled->spills.psum_bytes, compiled->spills.psum_copies * kTile);
  EXPECT_EQ(compiled->spills.saves, 0);
}

TEST(Spill, ProductsThatLeftPsumAreReadInSbuf) {
  const auto compiled = compared(
      [](const Architecture& architecture) {
        Kernel kernel(architecture, 6);
        std::vector<View> products;
        const View left = kernel.loaded(0).slice(1, 0, 128), right = kernel.loaded(1);
        View mixed = right;
        for (int i = 0; i < 6; ++i) {
          products.push_back(kernel.builder.psum("product", {128, 256}));
          kernel.builder.emit(
              NcMatmul{.dst = products.back(), .stationary = left, .moving = right});
        }
        for (int i = 0; i < 6; ++i) {  // the first use is in the reverse order of the last one
          const View next = kernel.tile("mixed");
          kernel.builder.emit(TensorTensor{next, mixed, products[5 - i], AluOp::kAdd});
          mixed = next;
        }
        for (size_t i = 0; i < 6; ++i) {
          const View result = kernel.tile("result");
          kernel.builder.emit(TensorTensor{result, mixed, products[i], AluOp::kAdd});
          kernel.store(static_cast<int64_t>(i), result);
        }
        return kernel.finish();
      },
      with_memory(40, 2));
  EXPECT_GE(compiled->spills.psum_copies, 4);
  EXPECT_LE(compiled->spills.psum_copies, 6);  // each leaves once and none comes back
}

TEST(Spill, OnlyBytesThatWereWrittenAreSaved) {
  const auto compiled = compared(
      [](const Architecture& architecture) {
        Kernel kernel(architecture, 5);
        const View half = kernel.tile("half");
        kernel.builder.emit(TensorCopy{half.slice(1, 64, 128), kernel.loaded(0).slice(1, 0, 128)});
        std::vector<View> others;
        for (int64_t row = 1; row < 5; ++row) others.push_back(kernel.doubled(kernel.loaded(row)));
        for (int64_t row = 1; row < 5; ++row) {
          kernel.store(row, others[static_cast<size_t>(row) - 1]);
        }
        kernel.builder.emit(DmaCopy{.dst = kernel.out.select(0, 0).slice(1, 0, 128),
                                    .src = half.slice(1, 64, 128)});
        return kernel.finish();
      },
      with_memory(5));
  EXPECT_EQ(compiled->spills.save_bytes, kTile / 2);
  EXPECT_EQ(compiled->spills.reload_bytes, kTile / 2);
}

TEST(Spill, TheTilesOfOneInstructionMustFit) {
  const Source source = computed_first(4);
  EXPECT_EQ(bytes_after(compile(source(with_memory(2)), kBackEnd).program),
            bytes_after(source(with_memory(190))));
  try {
    source(with_memory(1));
    FAIL() << "no error";
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
    EXPECT_NE(std::string(error.what()).find("live at 'tensor_tensor' need"), std::string::npos)
        << error.what();
  }
}

TEST(Spill, TilesPlacedByHandStayWhereTheyAre) {
  const auto compiled = compared(
      [](const Architecture& architecture) {
        Kernel kernel(architecture, 8);
        const View placed =
            kernel.builder.place(MemoryKind::kSbuf, "placed", {128, 256}, kFloat, 1024);
        kernel.builder.emit(DmaCopy{.dst = placed, .src = kernel.in.select(0, 7)});
        std::vector<View> tiles;
        for (int64_t row = 0; row < 7; ++row) tiles.push_back(kernel.doubled(kernel.loaded(row)));
        for (int64_t row = 0; row < 7; ++row) {
          kernel.store(row, tiles[static_cast<size_t>(row)]);
        }
        kernel.store(7, placed);
        return kernel.finish();
      },
      with_memory(5));
  for (const Tile& tile : compiled->tiles) {
    if (tile.label == "placed") {
      EXPECT_EQ(tile.address, 1024);
    }
  }
  EXPECT_GT(compiled->spills.saves, 0);
}

TEST(Spill, AProgramWithoutAStraightLineIsRefusedWithTheReason) {
  const Architecture small = with_memory(4);
  Kernel kernel(small, 8);
  const int counter = kernel.builder.allocate_register();
  std::vector<View> tiles;
  for (int64_t row = 0; row < 8; ++row) tiles.push_back(kernel.doubled(kernel.loaded(row)));
  kernel.builder.loop_register(EngineKind::kSync, counter, 2, [&](const Affine&) {
    for (int64_t row = 0; row < 8; ++row) kernel.store(row, tiles[static_cast<size_t>(row)]);
  });
  const auto program = kernel.finish();
  try {
    compile(program, kBackEnd);
    FAIL() << "no error";
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
    EXPECT_NE(std::string(error.what())
                  .find("None is spilled to HBM: its loops or addresses "
                        "depend on registers."),
              std::string::npos)
        << error.what();
  }
}

TEST(Spill, AProgramThatFitsIsNeverChanged) {
  const Architecture ample = with_memory(190);
  const auto program = computed_first(4)(ample);
  EXPECT_FALSE(compile(program, published_stack("neuronx-cc trn2").settings).program->spills.any());
  EXPECT_EQ(compile(program, {}).program, program);
}

}  // namespace
}  // namespace neuron_sim
