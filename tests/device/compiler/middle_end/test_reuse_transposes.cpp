#include "device/compiler/middle_end/reuse_transposes.h"

#include "device/compiler/middle_end/forward_stores.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_transpose.h"
#include "tests/device/compiler/transfers.h"

namespace neuron_sim {
namespace {

/// Kernels that transpose tiles of bf16 [128, columns] on trn2 and store what they get.
class TransposeKernel : public TransferKernel {
 public:
  View source(int64_t columns = 256) { return input({128, columns}, Dtype::kBfloat16); }

  /// A tile [128, columns] of the transposes of blocks of 128 columns, through one bank of PSUM.
  View transposed(const View& from, EngineKind copy_engine = EngineKind::kAuto) {
    const int64_t blocks = from.size(1) / 128;
    const View to = tile({128, blocks, 128}, Dtype::kBfloat16);
    const View bank = builder.psum("bank", {128, blocks, 128}, Dtype::kBfloat16);
    for (int64_t block = 0; block < blocks; ++block) {
      builder.emit(
          NcTranspose{bank.select(1, block), from.slice(1, block * 128, 128), EngineKind::kTensor});
    }
    builder.emit(TensorCopy{to, bank, copy_engine});
    return to;
  }
};

struct Left {
  int64_t transposes = 0, copies = 0;
  bool operator==(const Left&) const = default;
};
void PrintTo(const Left& left, std::ostream* out) {
  *out << left.transposes << " transposes, " << left.copies << " copies";
}

/// What reuse_transposes leaves of the program, whose bytes stay.
Left reused(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "reuse_transposes");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  Left left;
  for (const std::string_view name : names(line)) {
    left.transposes += name == "nc_transpose";
    left.copies += name == "tensor_copy";
  }
  return left;
}

TEST(ReuseTransposes, WhatIsTransposedAgainIsReadWhereItIs) {
  TransposeKernel kernel;
  const View source = kernel.source();
  for (int i = 0; i < 3; ++i) kernel.output(kernel.transposed(source));
  EXPECT_EQ(reused(kernel.finish()), (Left{2, 1}));
}

TEST(ReuseTransposes, TheEngineOfTheCopyDoesNotMatter) {
  TransposeKernel kernel;
  const View source = kernel.source();
  kernel.output(kernel.transposed(source, EngineKind::kScalar));
  kernel.output(kernel.transposed(source, EngineKind::kVector));
  EXPECT_EQ(reused(kernel.finish()), (Left{2, 1}));
}

TEST(ReuseTransposes, OtherSourcesAndOtherPartsAreTransposed) {
  TransposeKernel kernel;
  const View source = kernel.source(384), other = kernel.source(384);
  kernel.output(kernel.transposed(source.slice(1, 0, 256)));
  kernel.output(kernel.transposed(source.slice(1, 128, 256)));
  kernel.output(kernel.transposed(source.slice(1, 0, 128)));
  kernel.output(kernel.transposed(other.slice(1, 0, 256)));
  EXPECT_EQ(reused(kernel.finish()), (Left{7, 4}));
}

TEST(ReuseTransposes, ASourceThatChangesInBetweenIsTransposedAgain) {
  for (const bool changes : {false, true}) {
    TransposeKernel kernel;
    const View source = kernel.source();
    kernel.output(kernel.transposed(source));
    if (changes) kernel.builder.emit(Memset{source.slice(1, 7, 1), 3.0});
    kernel.output(kernel.transposed(source));
    kernel.output(kernel.transposed(source));
    EXPECT_EQ(reused(kernel.finish()), (changes ? Left{4, 2} : Left{2, 1}));
  }
}

TEST(ReuseTransposes, ATileThatIsWrittenAfterwardsIsAnother) {
  for (const bool first : {false, true}) {
    TransposeKernel kernel;
    const View source = kernel.source();
    const View one = kernel.transposed(source), two = kernel.transposed(source);
    kernel.output(one);
    kernel.output(two);
    const View changed = first ? one : two;
    kernel.builder.emit(Memset{changed.select(1, 0).slice(1, 5, 1), 3.0});
    kernel.output(changed);
    EXPECT_EQ(reused(kernel.finish()), (Left{4, 2}));
  }
}

TEST(ReuseTransposes, ATileOfWhichATransposeIsAPartIsFilledAgain) {
  TransposeKernel kernel;
  const View source = kernel.source(128);
  for (int i = 0; i < 2; ++i) {
    const View wide = kernel.tile({128, 130}, Dtype::kBfloat16);
    kernel.builder.emit(Memset{wide, 1.0});
    const View bank = kernel.builder.psum("bank", {128, 128}, Dtype::kBfloat16);
    kernel.builder.emit(NcTranspose{bank, source, EngineKind::kTensor});
    kernel.builder.emit(TensorCopy{wide.slice(1, 0, 128), bank});
    kernel.output(wide);
  }
  EXPECT_EQ(reused(kernel.finish()), (Left{2, 2}));
}

TEST(ReuseTransposes, TransposesStayThatWouldKeepMoreThanTheirPartOfSbuf) {
  const int64_t usable = load_architecture("trn2").limits.sbuf_usable.count;
  const int64_t room = (usable - kDescriptorBytes) / kForwardingParts;
  const auto left = [](int64_t bytes) {
    TransposeKernel kernel;
    const View source = kernel.source(128);
    kernel.output(kernel.transposed(source));
    kernel.builder.scope([&] { kernel.output(kernel.input({128, bytes / 4})); });
    kernel.output(kernel.transposed(source));
    return reused(kernel.finish());
  };
  const int64_t tiles = 2 * 128 * 2;  // the source and its transpose
  EXPECT_EQ(left(room - tiles), (Left{1, 1}));
  EXPECT_EQ(left(room - tiles + 64), (Left{2, 2}));
}

}  // namespace
}  // namespace neuron_sim
