// The back end against the order of instructions in the public traces of two attention kernels
// (neuronx-cc 2.23, trn2): every engine's list.

#include <gtest/gtest.h>

#include "tests/device/compiler/attention_statements.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

using Order = std::vector<std::string>;

void compile_back_end(LabelledLine& labelled) {
  const PassSettings& settings = published_stack("neuronx-cc trn2 direct").settings;
  run_pass(labelled.line, "rename_buffers");
  run_pass(labelled.line, "assign_queues", settings);
  ASSERT_TRUE(run_pass(labelled.line, "allocate_sbuf"));
  ASSERT_TRUE(run_pass(labelled.line, "schedule", settings));
}

/// Appends "name 0" ... "name 3".
void add_four(Order& order, const std::string& name, int first = 0, int last = 3) {
  for (int i = first; i <= last; ++i) order.push_back(name + " " + std::to_string(i));
}
void add_each_q(Order& order, const std::string& name) {
  for (int q = 0; q < 4; ++q) order.push_back(name + " q" + std::to_string(q));
}

/// fp32, and bf16 inputs with fp32 intermediates.
class AttentionOrder : public testing::TestWithParam<Dtype> {
 protected:
  AttentionStatements statements() const { return {load_architecture("trn2"), GetParam()}; }
};

TEST_P(AttentionOrder, FusedIsThatOfTheTrace) {
  LabelledLine fused = statements().fused();
  compile_back_end(fused);
  Order tensor;
  add_four(tensor, "Tv");
  add_each_q(tensor, "QK");
  for (const char* name : {"Tp", "PV"}) {
    for (int q = 0; q < 4; ++q) add_four(tensor, std::string(name) + " q" + std::to_string(q));
  }
  EXPECT_EQ(fused.order(EngineKind::kTensor), tensor);
  EXPECT_EQ(fused.order(EngineKind::kVector),
            (Order{"max q0", "max q1", "max q2", "max q3", "negmax", "sum q0", "sum q1",
                   "copy_p q0", "sum q2", "sum q3", "total", "reciprocal", "scale q0", "scale q1",
                   "scale q2", "scale q3"}));
  EXPECT_EQ(fused.order(EngineKind::kScalar),
            (Order{"copy_v", "exp q0", "exp q1", "exp q2", "exp q3", "copy_p q1", "copy_p q2",
                   "copy_p q3"}));
  Order sync{"load_identity"};
  if (GetParam() != Dtype::kFloat32) sync.insert(sync.begin(), "load_identity_16");
  EXPECT_EQ(fused.order(EngineKind::kSync), sync);
  EXPECT_EQ(fused.order(EngineKind::kGpSimd), (Order{"load_v", "load_q", "load_k", "store"}));
}

TEST_P(AttentionOrder, BaselineIsThatOfTheTrace) {
  LabelledLine baseline = statements().baseline();
  compile_back_end(baseline);
  Order tensor;
  add_each_q(tensor, "QK");
  for (const char* name : {"Tv", "Tp q0", "Tp q1", "PV q0"}) add_four(tensor, name);
  add_four(tensor, "PV q1", 0, 1);
  for (const char* name : {"Tp q2", "Tp q3"}) add_four(tensor, name);
  add_four(tensor, "PV q1", 2, 3);
  for (const char* name : {"PV q2", "PV q3"}) add_four(tensor, name);
  EXPECT_EQ(baseline.order(EngineKind::kTensor), tensor);
  EXPECT_EQ(baseline.order(EngineKind::kVector),
            (Order{"copy_s q1", "copy_s q3", "max q0", "max q1", "max q2", "max q3", "negmax",
                   "sum q0", "sum q1", "sum q2", "sum q3", "total", "reciprocal", "scale q0",
                   "scale q1", "scale q2", "scale q3", "copy_o q1"}));
  EXPECT_EQ(baseline.order(EngineKind::kScalar),
            (Order{"copy_s q0", "copy_s q2", "store_s 0", "copy_v", "store_s 1", "exp q0", "exp q1",
                   "exp q2", "exp q3", "store_p 0", "store_p 1", "copy_p q0", "copy_p q1",
                   "copy_o q0", "copy_p q2", "copy_p q3", "copy_o q2", "copy_o q3"}));
  Order sync{"load_identity", "load_s 0", "load_s 1", "load_p 0", "load_p 1"};
  // The one list of 20 that differs: in the trace the fp32 identity, which is needed last, comes
  // first; unexplained.
  if (GetParam() != Dtype::kFloat32) sync.insert(sync.begin(), "load_identity_16");
  EXPECT_EQ(baseline.order(EngineKind::kSync), sync);
  EXPECT_EQ(baseline.order(EngineKind::kGpSimd), (Order{"load_q", "load_k", "load_v", "store"}));
}

INSTANTIATE_TEST_SUITE_P(Dtypes, AttentionOrder,
                         testing::Values(Dtype::kFloat32, Dtype::kBfloat16));

}  // namespace
}  // namespace neuron_sim
