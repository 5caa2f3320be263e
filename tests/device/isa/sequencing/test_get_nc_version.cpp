#include "device/isa/sequencing/get_nc_version.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

TEST(GetNcVersion, IsTheGenerationOfTheArchitecture) {
  EXPECT_EQ(get_nc_version(load_architecture("trn1")), 2);
  EXPECT_EQ(get_nc_version(load_architecture("inf2")), 2);
  EXPECT_EQ(get_nc_version(load_architecture("trn2")), 3);
  EXPECT_EQ(get_nc_version(load_architecture("trn3")), 4);
}

TEST(GetNcVersion, IsAnyLaterGenerationOfAFile) {
  Architecture architecture = load_architecture("trn3");
  architecture.generation = 5;
  EXPECT_EQ(get_nc_version(architecture), 5);
}

TEST(GetNcVersion, ReportsGenerationsWithoutAMember) {
  for (const int64_t generation : {0, 1}) {
    Architecture architecture = load_architecture("trn2");
    architecture.name = "mine";
    architecture.generation = generation;
    try {
      get_nc_version(architecture);
      FAIL() << generation;
    } catch (const KernelError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNotImplemented);
      EXPECT_EQ(std::string(error.what()),
                text("'get_nc_version' has no member for generation ", generation,
                     " of architecture mine; nc_version begins with gen2."));
    }
  }
}

}  // namespace
}  // namespace neuron_sim
