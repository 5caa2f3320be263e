#include "device/base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kPrefix = "NEURON_SIM_";

constexpr auto kSettings = std::to_array<Setting>({
    {"NEURON_SIM_ARCH", "`inf2`, `trn1`, `trn2`, `trn3` or a TOML file",
     "the chip; else `NEURON_PLATFORM_TARGET_OVERRIDE`, else trn2"},
    {"NEURON_PLATFORM_TARGET_OVERRIDE", "a name as above", "the vendor's variable for the chip"},
    {"NEURON_CC_FLAGS", "flags of the vendor's compiler",
     "the vendor's variable for kernels whose decorator has no `additional_compile_opt`; of the "
     "flags `--disable-dge` counts"},
    {"NEURON_SIM_DEVICE", "`neuron_sim`, `neuron`",
     "the name of the device in PyTorch, as `neuron-sim run --device`; else `neuron_sim`"},
    {"NEURON_SIM_SEMANTICS", "`vendor`, `torch`",
     "whom the device follows where TorchNeuron differs from PyTorch; else the vendor under the "
     "name `neuron`, and PyTorch under `neuron_sim`"},
    {"NEURON_SIM_DEVICES", "1 to 16", "number of devices of a process; else 2"},
    {"NEURON_SIM_THREADS", "1 to 256",
     "host threads that compute, with the same bytes; else one per hardware thread"},
    {"NEURON_SIM_PRODUCT_KERNEL", "`amx`, `avx512`, `avx2`, `neon`, `portable`",
     "how the host multiplies tiles, with the same bytes ([architecture](architecture.md), "
     "\"Numerics\"); else the fastest on this host"},
    {"NEURON_SIM_MAXIMUM_ITERATIONS", "a number from 1",
     "iterations of loops on registers that one run may take; else 2^20"},
    {"NEURON_SIM_DYNAMIC_TRIPS", "a number from 0",
     "iterations to assume for loops that depend on data when nothing is computed; else their time "
     "is an error"},
    {"NEURON_SIM_TIMING_ONLY", "`1`", "times NKI kernels without computing them"},
    {"NEURON_SIM_PERCENTILES", "`equal`, `clock_phase`",
     "percentiles of `nki.benchmark`: all equal (the default), or over the phases of the Tensor "
     "engine's clock"},
    {"NEURON_SIM_PROFILE", "a folder", "as `neuron-sim run --profile`"},
    {"NEURON_SIM_DUMP", "`after:PASS`, `after:all`, `graph:after:PASS`, `graph:after:all`",
     "as `neuron-sim run --dump`: prints a program after a pass of the compiler, or the kernels of "
     "a "
     "compiled graph after one that fuses or orders them"},
    {"NEURON_SIM_EXPLAIN_MEMORY", "`1`",
     "as `neuron-sim run --explain-memory`: prints what fills SBUF and PSUM, and spills"},
    {"NEURON_SIM_TIMELINE", "a file", "as `neuron-sim run --timeline`"},
    {"NEURON_SIM_ADVICE", "`1`",
     "as `neuron-sim run --advice`: prints what bounds a kernel, and what would help"},
    {"NEURON_SIM_CLOCK", "`host`, `simulated`",
     "as `neuron-sim run --clock`: whose time the functions of Python's `time` tell the scripts of "
     "such a run; else the host's"},
    {"NEURON_SIM_SUMMARY", "`0`, `1`",
     "`0`: as `neuron-sim run --no-summary`; `1` is set by `neuron-sim run`"},
    {"NEURON_SIM_EAGER", "`1`",
     "as `neuron-sim run --eager`: [instructions run as they are traced](nki.md#eager-execution)"},
    {"NEURON_SIM_FULL_TRACEBACK", "`1`",
     "as `neuron-sim run --full-traceback`: errors of kernels with the simulator's own frames"},
    {"NEURON_SIM_SANITIZE", "`1`",
     "as `neuron-sim run --sanitize`: [the sanitizer](nki.md#the-sanitizer)"},
    {"NEURON_SIM_LEGALITY", "`compiler`, `documented`, `warn`, `off`",
     "as `neuron-sim run --legality`: what happens to NKI kernels that the vendor's tools refuse; "
     "else `off`"},
    {"NEURON_SIM_NKI_VERSION", "`0.2` to `0.7`",
     "as `neuron-sim run --nki-version`: the version of the vendor's `nki` whose rules a kernel is "
     "judged by; else 0.6"},
    {"NEURON_SIM_STRICT", "`0`, `1`",
     "`1`: an operator of PyTorch that falls back to the CPU is an error"},
    {"NEURON_SIM_FALLBACK", "`allow`, `warn`, `error`",
     "what such an operator does where `NEURON_SIM_STRICT` is not `1`; else it warns, once "
     "per operator"},
    {"TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS", "`1`",
     "TorchNeuron's variable, with the vendor's semantics: an operator that has a device kernel "
     "which does not take its arguments is an error"},
    {"NEURON_SIM_RANDOM_SOURCE", "`host`, `chip`",
     "who draws the random numbers of PyTorch's operators; else the host"},
    {"NEURON_SIM_OVERRIDE", "`1`", "as `neuron-sim run --override`"},
    {"NEURON_SIM_PYTHON", "an interpreter",
     "set by `neuron-sim run`: what runs `neuron-profile` there"},
    {"NEURON_SIM_PACKAGE", "a folder",
     "set by `neuron-sim run`: where interpreters find the package"},
    {"XDG_CACHE_HOME", "a folder",
     "the folder of all caches of the user, in which `neuron-sim model` keeps its answers under "
     "`neuron_sim`; else `~/.cache`"},
    {"NEURON_SIM_MODELS_DIR", "a folder",
     "where `models/demo.py` and the tests find the C++ models; else `build/release/models`"},
    {"NEURON_SIM_RECORD_TIMES", "anything",
     "the test `KernelTimes` writes its record anew ([contributing](../CONTRIBUTING.md))"},
});

/// The row of a variable; null without one.
const Setting* find(std::string_view name) {
  const auto* const row = std::find_if(kSettings.begin(), kSettings.end(),
                                       [&](const Setting& each) { return each.name == name; });
  return row == kSettings.end() ? nullptr : row;
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

std::string setting(std::string_view name) {
  const Setting* const row = find(name);
  require(row != nullptr, "a setting is in the table");
  [[maybe_unused]] static const bool warned = [] {
    const std::string warning = unknown_settings(environ);
    if (!warning.empty()) std::cerr << warning << std::endl;
    return !warning.empty();
  }();
  const char* value = std::getenv(row->name);
  return value == nullptr ? "" : value;
}

std::string unknown_settings(const char* const* environment) {
  std::string unknown;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || find(name) != nullptr) continue;
    unknown += text(unknown.empty() ? "" : " or ", name);
  }
  if (unknown.empty()) return "";
  std::string known;
  for (const Setting& each : kSettings) known += text(known.empty() ? "" : ", ", each.name);
  return text("neuron_sim: no setting of the environment is called ", unknown,
              ", so it has no effect; the settings are ", known, ".");
}

std::optional<int64_t> whole_number(std::string_view value, int64_t lowest, int64_t highest) {
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [last, error] = std::from_chars(value.data(), end, number);
  const bool is_whole = error == std::errc() && last == end;
  if (!is_whole || number < lowest || number > highest) return std::nullopt;
  return number;
}

}  // namespace neuron_sim
