#include "device/runtime/kernel_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "device/base/errors.h"
#include "device/isa/memset.h"
#include "device/program/builder.h"

namespace neuron_sim {
namespace {

std::shared_ptr<const Program> small_program() {
  Builder builder("small", load_architecture("trn2"));
  builder.emit(Memset{builder.sbuf("t", {1, 4}, Dtype::kFloat32), 0});
  return builder.finish();
}

KernelKey key(int64_t number) { return KernelKey("kernel", load_architecture("trn2")).add(number); }

TEST(KernelCache, BuildsOnceAndCountsHitsAndMisses) {
  KernelCache cache(4);
  int builds = 0;
  const auto build = [&] { return ++builds, small_program(); };
  const auto first = cache.find_or_build(key(1), build);
  EXPECT_EQ(cache.find_or_build(key(1), build), first);
  EXPECT_NE(cache.find_or_build(key(2), build), first);
  EXPECT_EQ(builds, 2);
  const CacheStatistics statistics = cache.statistics();
  EXPECT_EQ(statistics.hits, 1);
  EXPECT_EQ(statistics.misses, 2);
  EXPECT_EQ(statistics.kernels, 2);
  cache.clear();
  EXPECT_EQ(cache.statistics().kernels, 0);
  cache.find_or_build(key(1), build);
  EXPECT_EQ(builds, 3);
}

TEST(KernelCache, ForgetsTheKernelThatWasNotUsedForLongest) {
  KernelCache cache(2);
  int builds = 0;
  const auto build = [&] { return ++builds, small_program(); };
  cache.find_or_build(key(1), build);
  cache.find_or_build(key(2), build);
  cache.find_or_build(key(1), build);
  cache.find_or_build(key(3), build);  // 2 goes
  EXPECT_EQ(builds, 3);
  cache.find_or_build(key(1), build);
  cache.find_or_build(key(3), build);
  EXPECT_EQ(builds, 3);
  cache.find_or_build(key(2), build);
  EXPECT_EQ(builds, 4);
  EXPECT_EQ(cache.statistics().kernels, 2);
}

TEST(KernelCache, KeepsNothingOfAFailedBuild) {
  KernelCache cache(2);
  const auto failing = []() -> std::shared_ptr<const Program> { fail("no such shape."); };
  EXPECT_THROW(cache.find_or_build(key(1), failing), KernelError);
  EXPECT_EQ(cache.statistics().kernels, 0);
  EXPECT_NE(cache.find_or_build(key(1), small_program), nullptr);
}

TEST(KernelCache, GivesAllThreadsTheSameKernel) {
  KernelCache cache(8);
  std::vector<std::shared_ptr<const Kernel>> found(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] { found[i] = cache.find_or_build(key(7), small_program); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& kernel : found) EXPECT_EQ(kernel, found[0]);
  EXPECT_EQ(cache.statistics().kernels, 1);
}

TEST(KernelKey, DiffersInEveryComponent) {
  const Architecture &trn1 = load_architecture("trn1"), &trn2 = load_architecture("trn2");
  const auto make = [](std::string_view kernel, const Architecture& a) {
    return KernelKey(kernel, a);
  };
  const KernelKey base = make("kernel", trn2).add(1).add("text").add({2, 3});
  EXPECT_EQ(base, make("kernel", trn2).add(1).add("text").add({2, 3}));
  EXPECT_EQ(base.hash(), make("kernel", trn2).add(1).add("text").add({2, 3}).hash());
  const KernelKey others[] = {
      make("kernels", trn2).add(1).add("text").add({2, 3}),
      make("kernel", trn1).add(1).add("text").add({2, 3}),
      make("kernel", trn2).add(2).add("text").add({2, 3}),
      make("kernel", trn2).add(1).add("Text").add({2, 3}),
      make("kernel", trn2).add(1).add("text").add({3, 2}),
      make("kernel", trn2).add(1).add("text").add({2}).add(3),
      make("kernel", trn2).add(1).add("text").add({2, 3, 0}),
      make("kernel", trn2).add("text").add(1).add({2, 3}),
      make("kernel", trn2).add(1).add(std::string_view("text\0", 5)).add({2, 3}),
  };
  for (const KernelKey& other : others) {
    EXPECT_FALSE(other == base);
    EXPECT_NE(other.hash(), base.hash());
  }
}

}  // namespace
}  // namespace neuron_sim
