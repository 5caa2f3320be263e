#include "device/compiler/settings/pass_settings.h"

#include <gtest/gtest.h>

#include <set>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

std::string error_of_set(std::string_view field, int64_t value) {
  PassSettings settings;
  try {
    settings.set(field, value);
  } catch (const KernelError& error) {
    EXPECT_EQ(settings, PassSettings{});
    return error.what();
  }
  return "";
}

TEST(PassSettings, EachIsSetByItsNameAndDescribed) {
  for (const PassSetting& each : pass_settings()) {
    PassSettings settings;
    settings.set(each.name, 1);
    EXPECT_NE(settings, PassSettings{}) << each.name;
    EXPECT_EQ(settings[each.name], 1);
    EXPECT_EQ(describe(settings), each.name);
    EXPECT_EQ(settings, (PassSettings{{each.name, 1}}));
    settings.set(each.name, 0);
    EXPECT_EQ(settings, PassSettings{}) << each.name;
  }
  EXPECT_EQ(describe({}), "none");
  EXPECT_THROW(static_cast<void>(PassSettings{}["unroll"]), SimulatorBug);
}

TEST(PassSettings, ValuesAreCheckedFromBothSides) {
  EXPECT_EQ(error_of_set("schedule", 1), "");
  EXPECT_EQ(error_of_set("schedule", 2),
            "setting 'schedule' of the compiler's passes is 2, but must be 0 or 1.");
  EXPECT_EQ(error_of_set("schedule", -1),
            "setting 'schedule' of the compiler's passes is -1, but must be 0 or 1.");
  EXPECT_EQ(error_of_set("unroll", 1)
                .find("setting 'unroll' of the compiler's passes is unknown; "
                      "there are: rename_buffers, "),
            0U);
}

TEST(PublishedStacks, HaveNamesOfTheirOwnAndASource) {
  std::set<std::string> names;
  for (const PublishedStack& stack : published_stacks()) {
    EXPECT_TRUE(names.insert(stack.name).second) << stack.name;
    EXPECT_FALSE(std::string(stack.source).empty());
    EXPECT_EQ(&published_stack(stack.name), &stack);
  }
  EXPECT_EQ(describe(published_stack("none").settings), "none");
  EXPECT_EQ(published_stack("neuronx-cc trn2").settings["disable_dge"], 0);
  EXPECT_EQ(published_stack("neuronx-cc trn2 --disable-dge").settings["disable_dge"], 1);
  EXPECT_EQ(published_stack("neuronx-cc trn1").settings["disable_dge"], 1);
}

TEST(PublishedStacks, LoadsComeFirstOnGeneration3Alone) {
  EXPECT_EQ(published_stack("neuronx-cc trn2").settings["hoist_loads"], 1);
  EXPECT_EQ(published_stack("neuronx-cc trn2 direct").settings["hoist_loads"], 1);
  EXPECT_EQ(published_stack("neuronx-cc trn1").settings["hoist_loads"], 0);
  EXPECT_EQ(published_stack("neuronx-cc trn1 direct").settings["hoist_loads"], 0);
}

TEST(PublishedStacks, AnUnknownOneIsRefusedWithAllNames) {
  try {
    published_stack("neuronx-cc trn9");
    FAIL() << "there is no such stack";
  } catch (const KernelError& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("software stack 'neuronx-cc trn9' is unknown; there "
                        "are: none, neuronx-cc trn2, "),
              0U);
  }
}

}  // namespace
}  // namespace neuron_sim
