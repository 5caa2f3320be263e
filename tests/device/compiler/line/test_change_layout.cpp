#include "device/compiler/line/change_layout.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

constexpr const char* kLoad = "kernel.py:3";
constexpr int64_t kRows = 256, kColumns = 128;

/// Loads [128, 256] of a tensor whose rows or whose columns the partitions get.
std::shared_ptr<const Program> load(bool is_dense) {
  Builder builder("load", load_architecture("trn2"));
  const View in = is_dense ? builder.argument("in", {kColumns, kRows}, Dtype::kFloat32)
                           : builder.argument("in", {kRows, kColumns}, Dtype::kFloat32);
  const View out = builder.argument("out", {kColumns, kRows}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {kColumns, kRows}, Dtype::kFloat32);
  builder.set_source_line(kLoad);
  builder.emit(DmaCopy{.dst = tile, .src = is_dense ? in : in.permute({1, 0})});
  builder.set_source_line("kernel.py:4");
  builder.emit(DmaCopy{.dst = out, .src = tile});
  return builder.finish();
}

TEST(ChangeLayout, LoadsOfColumnsTakeWhatLoadsOfRowsTake) {
  const auto denser = with_dense_loads(*load(false), kLoad);
  ASSERT_NE(denser, nullptr);
  EXPECT_EQ(simulate(*denser).body, simulate(*load(true)).body);
  EXPECT_LT(simulate(*denser).body, simulate(*load(false)).body);
}

TEST(ChangeLayout, DenseLoadsStoresAndOtherLinesStay) {
  EXPECT_EQ(with_dense_loads(*load(true), kLoad), nullptr);
  EXPECT_EQ(with_dense_loads(*load(false), "kernel.py:4"), nullptr);
  EXPECT_EQ(with_dense_loads(*load(false), "kernel.py:5"), nullptr);
}

}  // namespace
}  // namespace neuron_sim
