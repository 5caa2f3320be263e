#include "device/isa/tensor/product_kernel.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(ProductKernel, IsTheFirstThatTheHostRunsUnlessOneIsNamed) {
  const ProductKernel* first = nullptr;
  for (const ProductKernel* kernel : product_kernels()) {
    if (!kernel->runs_here()) continue;
    if (first == nullptr) first = kernel;
    EXPECT_EQ(&product_kernel_named(kernel->name), kernel);
  }
  EXPECT_EQ(&product_kernel_named(""), first);
  EXPECT_TRUE(kPortableProduct.runs_here());
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

}  // namespace
}  // namespace neuron_sim
