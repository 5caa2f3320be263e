// Timing only: instruction instances per second of processor time on the instruction stream of the
// convolution 256 -> 256 channels, 3 x 3, walked in full and with steady loops skipped.
// Usage: timeline_rate [IMAGE [REPETITIONS]]; the image has IMAGE x IMAGE pixels (224), the best of
// REPETITIONS (5) counts.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "device/timeline/timeline.h"
#include "ops/conv2d/conv2d_maxpool.h"

namespace {

using namespace neuron_sim;

double seconds_of(const Program& program, bool skip, int repetitions, Timing& timing) {
  TimelineOptions options;
  options.skip_steady_loops = skip;
  double best = 1e9;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const std::clock_t start = std::clock();
    timing = simulate(program, {}, options);
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

void measure(const char* label, Dtype dtype, int64_t batch, int64_t image, int repetitions) {
  const TensorSpec input{{batch, 256, image, image}, {}, dtype};
  const TensorSpec weight{{256, 256, 3, 3}, {}, dtype};
  const TensorSpec bias{{256}, {}, dtype};
  const BuiltOp op =
      build_alone(kConv2dMaxpool, load_architecture("trn2"), {input, weight, bias}, {});
  Timing full, skipped;
  const double walk = seconds_of(*op.program, false, repetitions, full);
  const double skip = seconds_of(*op.program, true, repetitions, skipped);
  std::printf(
      "convolution 256->256 3x3 %ldx%ld %s, batch %ld: %ld instances, full walk %.1f million/s, "
      "with skipping %.1f million/s, equal times: %s, simulated %.1f us, Tensor engine busy %.1f "
      "%%\n",
      static_cast<long>(image), static_cast<long>(image), label, static_cast<long>(batch),
      static_cast<long>(full.instances), static_cast<double>(full.instances) / walk * 1e-6,
      static_cast<double>(full.instances) / skip * 1e-6, full.body == skipped.body ? "yes" : "NO",
      full.body.microseconds(), 100 * full.utilisation(EngineKind::kTensor));
}

}  // namespace

int main(int count, char** arguments) {
  const int64_t image = count > 1 ? std::atol(arguments[1]) : 224;
  const int repetitions = count > 2 ? std::atoi(arguments[2]) : 5;
  if (image < 3 || repetitions < 1) {
    std::fprintf(stderr, "timeline_rate: IMAGE must be at least 3, REPETITIONS at least 1.\n");
    return 2;
  }
  measure("float32", Dtype::kFloat32, 1, image, repetitions);
  measure("float32", Dtype::kFloat32, 8, image, repetitions);
  measure("float16", Dtype::kFloat16, 1, image, repetitions);
  return 0;
}
