#include "device/isa/sequencing/get_nc_sub_version.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

TEST(GetNcSubVersion, IsTheFeatureOfTheArchitecture) {
  EXPECT_EQ(get_nc_sub_version(load_architecture("trn1")), 0);
  EXPECT_EQ(get_nc_sub_version(load_architecture("trn2")), 0);
  EXPECT_EQ(get_nc_sub_version(load_architecture("trn3")), 1);
  Architecture first = load_architecture("trn3");
  first.features.sub_version_1 = false;
  EXPECT_EQ(get_nc_sub_version(first), 0);
}

TEST(GetNcSubVersion, IsMarkedAsAssumed) {
  for (const std::string& name : builtin_architectures()) {
    const Fact& fact = load_architecture(name).facts().at("features.sub_version_1");
    EXPECT_EQ(fact.certainty, "assumed");
    EXPECT_NE(fact.source, "");
  }
}

}  // namespace
}  // namespace neuron_sim
