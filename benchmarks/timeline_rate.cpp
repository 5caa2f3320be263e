// Timing only: instruction instances per second on the instruction stream of the convolution
// 256 -> 256 channels, 3 x 3, 224 x 224, on one core, walked in full and with steady loops skipped.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "device/timeline/timeline.h"
#include "ops/conv2d/conv2d_maxpool.h"

namespace {

using namespace neuron_sim;

double seconds_of(const Program& program, bool skip, Timing& timing) {
  TimelineOptions options;
  options.skip_steady_loops = skip;
  double best = 1e9;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    timing = simulate(program, {}, options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count());
  }
  return best;
}

void measure(const char* label, Dtype dtype, int64_t batch) {
  const TensorSpec input{{batch, 256, 224, 224}, {}, dtype};
  const TensorSpec weight{{256, 256, 3, 3}, {}, dtype};
  const TensorSpec bias{{256}, {}, dtype};
  const BuiltOp op =
      build_alone(kConv2dMaxpool, load_architecture("trn2"), {input, weight, bias}, {});
  Timing full, skipped;
  const double walk = seconds_of(*op.program, false, full);
  const double skip = seconds_of(*op.program, true, skipped);
  std::printf(
      "%s, batch %ld: %ld instances, full walk %.1f million/s, with skipping %.1f million/s, "
      "equal times: %s, simulated %.1f us, Tensor engine busy %.1f %%\n",
      label, static_cast<long>(batch), static_cast<long>(full.instances),
      static_cast<double>(full.instances) / walk * 1e-6,
      static_cast<double>(full.instances) / skip * 1e-6, full.body == skipped.body ? "yes" : "NO",
      full.body.microseconds(), 100 * full.utilisation(EngineKind::kTensor));
}

}  // namespace

int main() {
  measure("convolution 256->256 3x3 224x224 float32", Dtype::kFloat32, 1);
  measure("convolution 256->256 3x3 224x224 float32", Dtype::kFloat32, 8);
  measure("convolution 256->256 3x3 224x224 float16", Dtype::kFloat16, 1);
  return 0;
}
