#include "tests/device/check/check_programs.h"

namespace neuron_sim {
namespace {

/// Products of [128, 128] and [128, n] into views of PSUM.
struct Products {
  Products() {
    builder.emit(Memset{stationary, 1});
    builder.emit(Memset{moving, 1});
  }
  void product(const View& dst, bool accumulate, const char* line = "k.py:1") {
    builder.set_source_line(line);
    builder.emit(NcMatmul{.dst = dst,
                          .stationary = stationary,
                          .moving = moving.slice(1, 0, dst.size(1)),
                          .accumulate = accumulate});
  }
  void read(const View& sum) {
    builder.set_source_line("k.py:7");
    builder.emit(TensorCopy{copy.slice(1, 0, sum.size(1)), sum});
  }
  std::vector<Finding> check() { return neuron_sim::check(builder, 0); }

  Builder builder{"products", trn2()};
  View stationary = builder.sbuf("stationary", {128, 128}, Dtype::kBfloat16);
  View moving = builder.sbuf("moving", {128, 512}, Dtype::kBfloat16);
  View copy = builder.sbuf("copy", {128, 512}, Dtype::kFloat32);
};

TEST(PsumSums, AProductThatEndsWithItsBankIsNone) {
  Products products;
  const View sums = products.builder.psum("sums", {128, 1024});
  products.product(sums.slice(1, 512, 512), false);
  EXPECT_TRUE(products.check().empty());
}

TEST(PsumSums, AProductThatReachesOneElementIntoTheNextBankCrosses) {
  Products products;
  const View sums = products.builder.psum("sums", {128, 1024});
  products.product(sums.slice(1, 1, 512), false, "k.py:3");
  const auto found = products.check();
  ASSERT_EQ(rules_of(found), Rules{"psum-bank-crossing"});
  EXPECT_EQ(found[0].source_line, "k.py:3");
  EXPECT_EQ(found[0].operand, "dst");
  EXPECT_EQ(found[0].place.bytes->begin, 4);
}

TEST(PsumSums, ThatTakeTurnsInOneBankAreInterleaved) {
  Products products;
  const View sums = products.builder.psum("sums", {128, 512});
  const View a = sums.slice(1, 0, 256), b = sums.slice(1, 256, 256);
  products.product(a, false);
  products.product(b, false, "k.py:2");
  products.product(a, true, "k.py:3");
  const auto found = products.check();
  ASSERT_EQ(rules_of(found), Rules{"psum-interleaved-groups"});
  EXPECT_EQ(found[0].source_line, "k.py:3");
  EXPECT_EQ(found[0].other_line, "k.py:2");
}

TEST(PsumSums, ThatBeginOnZerosTakeTurnsInOneBankOnce) {
  for (const double value : {0.0, 1.0}) {
    for (const bool again : {false, true}) {
      Products products;
      const View sums = products.builder.psum("sums", {128, 512});
      const View a = sums.slice(1, 0, 256), b = sums.slice(1, 256, 256);
      products.builder.emit(Memset{sums, value});
      for (const bool accumulate : {false, true}) {
        products.product(a, accumulate);
        products.product(b, accumulate);
      }
      products.read(sums);
      if (again) {  // no zeros are left
        products.product(a, false);
        products.product(b, false, "k.py:2");
        products.product(a, true, "k.py:3");
      }
      const auto found = products.check();
      EXPECT_EQ(found.empty(), value == 0 && !again);
      if (value == 0 && again) {
        EXPECT_EQ(found[0].other_line, "k.py:2");
      }
    }
  }
}

TEST(PsumSums, OneAfterTheOtherInOneBankAreNone) {
  Products products;
  const View sums = products.builder.psum("sums", {128, 512});
  for (const int64_t half : {0, 256}) {
    for (const bool accumulate : {false, true, true}) {
      products.product(sums.slice(1, half, 256), accumulate);
    }
  }
  EXPECT_TRUE(products.check().empty());
}

TEST(PsumSums, ThatTakeTurnsInTwoBanksAreNone) {
  Products products;
  const View sums = products.builder.psum("sums", {128, 1024});
  for (const bool accumulate : {false, true}) {
    products.product(sums.slice(1, 0, 512), accumulate);
    products.product(sums.slice(1, 512, 512), accumulate);
  }
  EXPECT_TRUE(products.check().empty());
}

TEST(PsumSums, ThatGoOnAfterTheyWereReadAreNamed) {
  for (const bool goes_on : {true, false}) {
    Products products;
    const View sum = products.builder.psum("sum", {128, 512});
    products.product(sum, false);
    products.read(sum);
    products.product(sum, goes_on, "k.py:9");
    const auto found = products.check();
    ASSERT_EQ(rules_of(found), goes_on ? Rules{"psum-read-before-stop"} : Rules{});
    if (goes_on) {
      EXPECT_EQ(found[0].other_line, "k.py:7");
    }
  }
}

TEST(PsumSums, ThatAddToWhatNothingBeganAreNamed) {
  for (const bool filled : {true, false}) {
    Products products;
    const View sum = products.builder.psum("sum", {128, 512});
    if (filled) products.builder.emit(Memset{sum, 0});
    products.product(sum, true, "k.py:4");
    const auto found = products.check();
    ASSERT_EQ(rules_of(found), filled ? Rules{} : Rules{"psum-accumulate-without-start"});
    if (!filled) {
      EXPECT_EQ(found[0].source_line, "k.py:4");
    }
  }
}

TEST(PsumSums, ThatAreOverwrittenBeforeTheyAreReadAreLost) {
  for (const char* of : {"that is read", "of another tile", "lost"}) {
    Products products;
    const auto placed = [&](const char* label) {
      return products.builder.place(MemoryKind::kPsum, label, {128, 512}, Dtype::kFloat32, 0);
    };
    const View sum = placed("sum"), other = placed("other");
    products.product(sum, false, "k.py:1");
    if (of == std::string("that is read")) products.read(sum);
    const View next = of == std::string("of another tile") ? other : sum;
    products.product(next, false, "k.py:2");
    products.read(next);
    const auto found = products.check();
    ASSERT_EQ(rules_of(found), of == std::string("lost") ? Rules{"lost-sum"} : Rules{}) << of;
    if (!found.empty()) EXPECT_EQ(found[0].other_line, "k.py:1");
  }
}

TEST(PsumSums, ThatNothingReadsAfterEitherAreNotLost) {
  for (const int64_t columns : {64, 65}) {  // that are read of 128
    Products products;
    const View sums = products.builder.psum("sums", {128, 128});
    for (const int64_t read : {int64_t{64}, columns}) {
      products.product(sums.slice(1, 0, 64), false);
      products.product(sums.slice(1, 64, 64), false, "k.py:2");
      products.read(sums.slice(1, 0, read));
    }
    ASSERT_EQ(rules_of(products.check()), columns == 64 ? Rules{} : Rules{"lost-sum"});
  }
}

}  // namespace
}  // namespace neuron_sim
