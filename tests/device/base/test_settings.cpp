#include "device/base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

TEST(Settings, SayWhatTheEnvironmentSaysNow) {
  setenv("NEURON_SIM_PROFILE", "traces", 1);
  EXPECT_EQ(setting("NEURON_SIM_PROFILE"), "traces");
  setenv("NEURON_SIM_PROFILE", "", 1);
  EXPECT_EQ(setting("NEURON_SIM_PROFILE"), "");
  unsetenv("NEURON_SIM_PROFILE");
  EXPECT_EQ(setting("NEURON_SIM_PROFILE"), "");
  EXPECT_THROW(setting("NEURON_SIM_PROFIL"), SimulatorBug);
}

TEST(Settings, AreEachInTheTableOnceWithValuesAndMeaning) {
  std::set<std::string_view> names;
  for (const Setting& each : settings()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_FALSE(each.values.empty() || each.meaning.empty()) << each.name;
  }
}

TEST(Settings, NameVariablesThatDoNotExist) {
  const char* known[] = {"NEURON_SIM_ARCH=trn1", "PATH=/bin", "NEURON_RT=1", nullptr};
  EXPECT_EQ(unknown_settings(known), "");
  EXPECT_EQ(unknown_settings(nullptr), "");
  const char* unknown[] = {"NEURON_SIM_ARHC=trn1", "NEURON_SIM_ARCH=trn1",
                           "NEURON_SIM_ARCHS=", nullptr};
  EXPECT_TRUE(unknown_settings(unknown).starts_with(
      "neuron_sim: no setting of the environment is called NEURON_SIM_ARHC or NEURON_SIM_ARCHS, so "
      "it has no effect; the settings are NEURON_SIM_ARCH, "));
}

TEST(WholeNumber, IsOneFromTheLowestToTheHighest) {
  EXPECT_EQ(whole_number("3", 3, 5), 3);
  EXPECT_EQ(whole_number("5", 3, 5), 5);
  EXPECT_EQ(whole_number("-2", -2, 5), -2);
  for (const char* wrong : {"2", "6", "", "x", "4x", "4.0", " 4", "+4", "99999999999999999999"}) {
    EXPECT_EQ(whole_number(wrong, 3, 5), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace neuron_sim
