#include "ops/copies/group_collective.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/timeline/collective_time.h"

namespace neuron_sim {
namespace {

std::shared_ptr<const Program> program_of(CollectiveKind kind, int64_t ranks,
                                          const std::vector<int64_t>& from,
                                          const std::vector<int64_t>& to) {
  Builder builder("collective", load_architecture("trn1"));
  const HbmTensor operand = argument_tensor(builder, "x", {from, {}, Dtype::kBfloat16});
  const HbmTensor result = argument_tensor(builder, "y", {to, {}, Dtype::kBfloat16});
  emit_group_collective(builder, std::array{operand}, std::array{result}, {kind, ranks});
  return builder.finish();
}

TEST(GroupCollective, MeetsAllRanksOnce) {
  const auto program = program_of(CollectiveKind::kAllReduce, 24, {2, 3, 5}, {2, 3, 5});
  ASSERT_EQ(program->instructions.size(), 1);
  EXPECT_TRUE(program->has_collectives);
  EXPECT_EQ(program->replica_groups[0]->largest_group(), 24);
  EXPECT_EQ(program->replica_groups[0]->largest_rank(), 23);
  const auto one = program_of(CollectiveKind::kAllReduce, 1, {30}, {30});
  const Architecture& architecture = *program->architecture;
  EXPECT_LT(collective_time(*one, one->instructions[0], architecture),
            collective_time(*program, program->instructions[0], architecture));
}

TEST(GroupCollective, GathersAndScattersPartsOfAllRanks) {
  EXPECT_NO_THROW(program_of(CollectiveKind::kAllGather, 4, {7}, {4, 7}));
  EXPECT_NO_THROW(program_of(CollectiveKind::kReduceScatter, 4, {4, 7}, {7}));
  EXPECT_THROW(program_of(CollectiveKind::kAllGather, 4, {7}, {3, 7}), KernelError);
  EXPECT_THROW(program_of(CollectiveKind::kReduceScatter, 4, {4, 7}, {8}), KernelError);
}

}  // namespace
}  // namespace neuron_sim
