#include "csrc/aten/random/random_seed.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/scalar_tensor.h>

#include "csrc/launch/capture.h"
#include "csrc/runtime/generator.h"

namespace neuron_sim {
namespace {

at::Tensor drawn_seed(at::Device device, const at::Generator& drawn_from) {
  auto* const generator = at::check_generator<at::CPUGeneratorImpl>(host_twin(drawn_from));
  const std::lock_guard lock(generator->mutex_);
  const auto seed = static_cast<int32_t>(generator->random());
  return at::scalar_tensor(seed, at::TensorOptions().dtype(at::kInt)).to(device).view(1);
}

}  // namespace

at::Tensor next_seed(const at::Tensor& like, const std::optional<at::Generator>& given) {
  const at::Generator generator = generator_or_default(given, like.device().index());
  const auto draw = [device = like.device(), generator] { return drawn_seed(device, generator); };
  GraphCapture* const capture = GraphCapture::active();
  return capture == nullptr ? draw() : capture->run_on_host("seed", draw);
}

}  // namespace neuron_sim
