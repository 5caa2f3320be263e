#include "device/compiler/middle_end/elide_psum_copies.h"

#include <algorithm>

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

enum class Reader { kVector, kScalarSlice, kTensor, kTransfer, kGpSimd };

/// `products` tiles of PSUM, all copied to SBUF before the copies are read.
struct PsumCopies {
  int64_t products = 2, columns = 512;
  Reader reader = Reader::kVector;
  Dtype copied = Dtype::kFloat32, result = Dtype::kFloat32;

  std::shared_ptr<const Program> program() const {
    Builder builder("copies", load_architecture("trn2"));
    const View in = builder.argument("in", {128, 512}, Dtype::kFloat32);
    const View out = builder.argument("out", {128, products, columns}, result);
    const View x = builder.sbuf("x", {128, 512}, Dtype::kFloat32);
    const View results = builder.sbuf("results", {128, products, columns}, result);
    const View copies = builder.sbuf("copies", {128, products, columns}, copied);
    builder.emit(DmaCopy{.dst = x, .src = in});
    builder.loop(products, [&](const Affine& i) {
      const View sum = builder.psum("sum", {128, columns});
      builder.emit(
          NcMatmul{.dst = sum, .stationary = x.slice(1, i, 128), .moving = x.slice(1, 0, columns)});
      builder.emit(TensorCopy{copies.select(1, i), sum});
    });
    builder.loop(products, [&](const Affine& i) {
      read(builder, x, copies.select(1, i), results.select(1, i));
    });
    builder.emit(DmaCopy{.dst = out, .src = results});
    return builder.finish();
  }

  void read(Builder& builder, const View& x, const View& copy, const View& result) const {
    if (reader == Reader::kVector) {
      builder.emit(TensorReduce{.dst = result.slice(1, 0, 1), .data = copy, .op = AluOp::kAdd});
      builder.emit(Activate{.dst = result, .data = copy, .op = Activation::kRelu});
    } else if (reader == Reader::kScalarSlice) {
      builder.emit(Activate{.dst = result, .data = copy, .op = Activation::kRelu});
      builder.emit(Activate{.dst = result.slice(1, 1, columns / 2, 2).slice(0, 32, 32),
                            .data = copy.slice(1, 0, columns / 2, 2).slice(0, 64, 32),
                            .op = Activation::kRelu});
    } else if (reader == Reader::kTensor) {
      const View sum = builder.psum("second", {128, columns});
      builder.emit(NcMatmul{.dst = sum, .stationary = x.slice(1, 0, 128), .moving = copy});
      builder.emit(Activate{.dst = result, .data = sum, .op = Activation::kRelu});
    } else if (reader == Reader::kTransfer) {
      builder.emit(DmaCopy{.dst = result, .src = copy});
    } else {
      builder.emit(TensorCopy{result, copy, EngineKind::kGpSimd});
    }
  }
};

/// PsumCopies out of PSUM that are left. The readers then compute the bytes of `same`.
int64_t copies_left(const PsumCopies& copies, const PsumCopies& same,
                    const PassSettings& settings) {
  StraightLine line = renamed_line(*copies.program());
  run_pass(line, "elide_psum_copies", settings);
  EXPECT_EQ(bytes_after(same.program()), bytes_after(placed(line)));
  return std::count_if(line.instructions.begin(), line.instructions.end(), [&](const auto& each) {
    return each.instruction.type == &kTensorCopy &&
           line.operands_of(each)[1].memory == MemoryKind::kPsum;
  });
}

int64_t copies_left(const PsumCopies& copies, const PassSettings& settings = {}) {
  return copies_left(copies, copies, settings);
}

const PassSettings& rounding() {
  static const PassSettings settings{{"elide_rounding_copies", 1}};
  return settings;
}

TEST(ElidePsumCopies, VectorAndScalarReadPsumInstead) {
  EXPECT_EQ(copies_left(PsumCopies{}), 0);
  EXPECT_EQ(copies_left(PsumCopies{.products = 3, .columns = 38, .reader = Reader::kScalarSlice}),
            0);
  EXPECT_EQ(copies_left(PsumCopies{.products = 1, .columns = 1}), 0);
}

TEST(ElidePsumCopies, WhatOtherEnginesReadStays) {
  for (const Reader reader : {Reader::kTensor, Reader::kTransfer, Reader::kGpSimd}) {
    EXPECT_EQ(copies_left(PsumCopies{.reader = reader}), 2);
  }
}

TEST(ElidePsumCopies, ACopyThatCastsStays) {
  EXPECT_EQ(copies_left(PsumCopies{.copied = Dtype::kBfloat16}), 2);
  EXPECT_EQ(copies_left(PsumCopies{.copied = Dtype::kFloat16}), 2);
}

TEST(ElidePsumCopies, ReadersOfACopyThatRoundsGetItsSourceUnroundedWhenThatIsWanted) {
  for (const Dtype copied : {Dtype::kBfloat16, Dtype::kFloat16}) {
    for (const Reader reader : {Reader::kVector, Reader::kScalarSlice}) {
      for (const int64_t columns : {2, 38, 512}) {
        const PsumCopies rounded{.columns = columns, .reader = reader, .copied = copied};
        const PsumCopies exact{.columns = columns, .reader = reader};
        EXPECT_NE(bytes_after(rounded.program()), bytes_after(exact.program()));
        EXPECT_EQ(copies_left(rounded, exact, rounding()), 0);
      }
    }
  }
}

TEST(ElidePsumCopies, ACopyThatRoundsStaysWhenOtherEnginesReadIt) {
  for (const Reader reader : {Reader::kTransfer, Reader::kGpSimd}) {
    const PsumCopies copies{
        .reader = reader, .copied = Dtype::kBfloat16, .result = Dtype::kBfloat16};
    EXPECT_EQ(copies_left(copies, rounding()), 2);
  }
}

TEST(ElidePsumCopies, ACopyToIntegersOrEightBitsStays) {
  for (const Dtype copied : {Dtype::kInt32, Dtype::kFloat8E4m3}) {
    EXPECT_EQ(copies_left(PsumCopies{.copied = copied}, rounding()), 2);
  }
}

TEST(ElidePsumCopies, NoMoreTilesStayInPsumThanThereAreBanks) {
  EXPECT_EQ(copies_left(PsumCopies{.products = 8}), 0);
  EXPECT_EQ(copies_left(PsumCopies{.products = 9}), 9);
  EXPECT_EQ(copies_left(PsumCopies{.products = 9, .copied = Dtype::kFloat16}, rounding()), 9);
}

TEST(ElidePsumCopies, ReadersOfCopiesThatStayKeepTheirDemands) {
  for (const int64_t products : {8, 9}) {
    StraightLine line = renamed_line(*PsumCopies{.products = products}.program());
    const auto demand_of_reader = [&] { return line.instructions.end()[-2].instruction.demand; };
    const uint32_t before = demand_of_reader();
    run_pass(line, "elide_psum_copies", {});
    EXPECT_EQ(demand_of_reader() == before, products == 9);
  }
}

}  // namespace
}  // namespace neuron_sim
