#include "device/compiler/batching/split_sums.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// out[i] = terms * (x.T x[:, i]) summed in PSUM, `tiles` times; the load of x[:, i] is in the loop
/// over the tiles, or in that over the terms.
struct Sums {
  int64_t tiles = 3, terms = 2;
  bool load_inside = false;

  std::shared_ptr<const Program> program() const {
    Builder builder("sums", load_architecture("trn2"));
    const View in = builder.argument("in", {128, 128}, Dtype::kFloat32);
    const View out = builder.argument("out", {tiles, 128, 4}, Dtype::kFloat32);
    const View x = builder.sbuf("x", {128, 128}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = x, .src = in});
    builder.loop(tiles, [&](const Affine& i) {
      const View sum = builder.psum("sum", {128, 4});
      const View part = builder.sbuf("part", {128, 4}, Dtype::kFloat32);
      const View result = builder.sbuf("result", {128, 4}, Dtype::kFloat32);
      const auto load = [&] { builder.emit(DmaCopy{.dst = part, .src = in.slice(1, i * 4, 4)}); };
      if (!load_inside) load();
      builder.emit(Memset{sum, 0});
      builder.loop(terms, [&](const Affine&) {
        if (load_inside) load();
        builder.emit(NcMatmul{.dst = sum, .stationary = x, .moving = part, .accumulate = true});
      });
      builder.emit(TensorCopy{result, sum});
      builder.emit(DmaCopy{.dst = out.select(0, i), .src = result});
    });
    return builder.finish();
  }
};

/// Loads, zeros, products, copies and stores in program order, by their first letters.
std::string order(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "split_sums");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  std::string result;
  for (const StraightInstruction& instance : line.instructions) {
    const InstructionType* type = instance.instruction.type;
    const bool store = line.operands_of(instance)[0].memory == MemoryKind::kHbm;
    if (type == &kDmaCopy) {
      result += store ? 's' : 'l';
    } else {
      result += type == &kNcMatmul ? 'p' : (type == &kMemset ? 'z' : 'c');
    }
  }
  return result;
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(SplitSums, WhatIsAroundTheSumsBecomesLoopsOfItsOwn) {
  EXPECT_EQ(order(Sums{}.program()), "llzlzlzppppppcscscs");
}

TEST(SplitSums, OnlyLoopsWhoseSumsAllHaveABankAreSplit) {
  const std::string eight = repeated("lz", 8) + repeated("pp", 8) + repeated("cs", 8);
  EXPECT_EQ(order(Sums{.tiles = 8}.program()), "l" + eight);
  EXPECT_EQ(order(Sums{.tiles = 9}.program()), "l" + repeated("lzppcs", 9));
}

TEST(SplitSums, LoopsThatLoadBetweenTheProductsStay) {
  EXPECT_EQ(order(Sums{.load_inside = true}.program()), "l" + repeated("zlplpcs", 3));
}

TEST(SplitSums, AProductWithoutALoopIsNotSplit) {
  EXPECT_EQ(order(Sums{.terms = 1}.program()), "l" + repeated("lzpcs", 3));
}

}  // namespace
}  // namespace neuron_sim
