#pragma once
// Operands and options of kernels, drawn at random, the same in every run.

#include <array>
#include <iterator>

#include "device/numerics/activation_functions.h"
#include "tests/ops/run_kernel.h"
#include "tests/ops/timed_kernels.h"

namespace neuron_sim {

using Pair = std::array<int64_t, 2>;

/// Draws sizes and options, and adds kernels of them to a list. Never draw twice among the
/// arguments of one call: C++ leaves their order to the compiler, and the record depends on it.
class Draw {
 public:
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator_() % static_cast<uint64_t>(high - low + 1));
  }
  /// Up to `most`; every order of magnitude is as likely.
  int64_t size(int64_t most) {
    int64_t bound = most;
    while (bound > 4 && number(0, 3) == 0) bound /= 4;
    return number(std::max<int64_t>(bound / 4, 1), bound);
  }
  bool one_in(int64_t count) { return number(1, count) == 1; }
  template <typename Values>
  auto one_of(const Values& values) {
    return values[static_cast<size_t>(number(0, static_cast<int64_t>(std::size(values)) - 1))];
  }
  Pair pair(int64_t low, int64_t high) { return {number(low, high), number(low, high)}; }
  Dtype floating() {
    constexpr Dtype kDtypes[] = {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16};
    return one_of(kDtypes);
  }
  std::string function() {
    constexpr const char* kNames[] = {"identity", "relu", "sigmoid", "tanh", "gelu", "softmax"};
    return one_of(kNames);
  }
  Activation activation() {
    constexpr Activation kFunctions[] = {Activation::kIdentity, Activation::kRelu,
                                         Activation::kTanh, Activation::kGelu};
    return one_of(kFunctions);
  }
  /// Mostly dense, sometimes with its dimensions in another order in memory.
  TensorSpec tensor(const std::vector<int64_t>& shape, Dtype dtype) {
    TensorSpec spec{shape, {}, dtype};
    if (!one_in(8)) return spec;
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    spec.strides = permuted_strides(shape, order);
    return spec;
  }
  /// `build` takes the architecture; it is the operands and options drawn last.
  template <typename Build>
  void add(const std::string& name, Build build) {
    const char* const architecture = kArchitectures[kernels_.size() % std::size(kArchitectures)];
    kernels_.push_back({name, architecture,
                        [build, architecture] { return build(load_architecture(architecture)); }});
  }
  std::vector<TimedKernel> take() { return std::move(kernels_); }

 private:
  static constexpr const char* kArchitectures[] = {"trn1", "trn2", "trn3"};
  std::mt19937_64 generator_{20261123};
  std::vector<TimedKernel> kernels_;
};

inline std::string words(const std::vector<TensorSpec>& specs) {
  std::string result;
  for (const TensorSpec& spec : specs) {
    result += describe("", spec) + (spec.strides.empty() ? "" : " turned");
  }
  return result;
}
inline std::string words(const Pair& pair) { return text(" ", pair[0], "x", pair[1]); }
/// Adds kernels of images: convolutions, their gradients, pooling and interpolation.
void draw_image_kernels(Draw& draw);

}  // namespace neuron_sim
