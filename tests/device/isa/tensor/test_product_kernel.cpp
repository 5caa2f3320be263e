#include "device/isa/tensor/product_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

std::string kernels_of_this_host() {
  std::string names;
  for (const ProductKernel* kernel : product_kernels()) {
    if (kernel->runs_here()) names += (names.empty() ? "" : ", ") + std::string(kernel->name);
  }
  return names;
}

TEST(ProductKernel, IsTheOneThatIsNamed) {
  for (const ProductKernel* kernel : product_kernels()) {
    if (kernel->runs_here()) EXPECT_EQ(&product_kernel_named(kernel->name), kernel);
  }
  EXPECT_TRUE(kPortableProduct.runs_here());
}

TEST(ProductKernel, IsOneOfTheHostsWithoutThePortableOneUnlessThereIsNoOther) {
  const std::vector<const ProductKernel*> kernels = product_kernels_of_host();
  EXPECT_NE(std::find(kernels.begin(), kernels.end(), &product_kernel_named("")), kernels.end());
  const bool has_portable =
      std::find(kernels.begin(), kernels.end(), &kPortableProduct) != kernels.end();
  EXPECT_EQ(has_portable, kernels.size() == 1 && kernels_of_this_host() == "portable");
  for (const ProductKernel* kernel : kernels) EXPECT_TRUE(kernel->runs_here()) << kernel->name;
}

TEST(ProductKernel, RefusesNamesThatThisHostDoesNotRun) {
  std::vector<std::string> wrong{"sse41", "AVX2", "avx"};
  for (const ProductKernel* kernel : product_kernels()) {
    if (!kernel->runs_here()) wrong.emplace_back(kernel->name);
  }
  for (const std::string& name : wrong) {
    try {
      product_kernel_named(name);
      FAIL() << name << " is taken";
    } catch (const KernelError& error) {
      EXPECT_EQ(error.what(), "NEURON_SIM_PRODUCT_KERNEL is '" + name + "'; this host runs " +
                                  kernels_of_this_host() + ".");
    }
  }
}

TEST(ProductKernel, HasBlocksOfWholeCacheLines) {
  for (const ProductKernel* kernel : product_kernels()) {
    for (const BlockShape& shape : {kernel->blocks, kernel->flat}) {
      EXPECT_GT(shape.rows(), 0) << kernel->name;
      EXPECT_EQ(shape.columns % 16, 0) << kernel->name;
    }
    EXPECT_EQ(kernel->narrow.columns % 16, 0) << kernel->name;
    if (kernel->narrow.columns > 0) {
      EXPECT_EQ(kernel->narrow.rows(), kernel->blocks.rows());
    }
    EXPECT_GT(kernel->bf16->blocks.rows(), 0) << kernel->name;
    EXPECT_EQ(kernel->bf16->blocks.columns % 16, 0) << kernel->name;
    EXPECT_EQ(kernel->bf16->flat.columns % 16, 0) << kernel->name;
  }
}

TEST(ProductKernel, TakesSumsOfBf16ForZerosThatAreSubnormalOnceRounded) {
  // Row 2, the next of its chain, takes a little from the least normal number, which row 0 gives:
  // up to half a unit of the last place below it the sum rounds to it again.
  const float least = 0x1p-126F;
  const std::pair<float, float> cases[] = {
      {0x1p-52F, least}, {0x1p-51F, least}, {0x1.02p-51F, 0.0F}, {0x1p-49F, 0.0F}};
  for (const ProductKernel* kernel : product_kernels()) {
    if (!kernel->runs_here()) continue;
    const Bf16Product& bf16 = *kernel->bf16;
    const int64_t columns = bf16.blocks.columns, depth = 3, room = packed_rows(depth) * columns;
    for (const auto& [taken, expected] : cases) {
      const float left[] = {0x1p-63F, 0, taken};
      std::vector<float> right(16 * depth, -0x1p-100F), target(columns), rows(room), packed(room);
      std::fill_n(right.begin(), 16, 0x1p-63F);
      bf16.left({depth, 1, left, 1, rows.data(), 1, 1});
      bf16.right({depth, 16, right.data(), 16, packed.data(), columns, columns});
      if (bf16.begin != nullptr) bf16.begin();
      bf16.blocks.multiply[0](
          {depth, 1, rows.data(), 1, packed.data(), columns, target.data(), columns});
      if (bf16.end != nullptr) bf16.end();
      EXPECT_EQ(target[5], expected) << kernel->name << " takes " << taken;
    }
  }
}

}  // namespace
}  // namespace neuron_sim
