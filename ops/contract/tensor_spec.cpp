#include "ops/contract/tensor_spec.h"

#include "device/base/errors.h"

namespace neuron_sim {

int64_t TensorSpec::elements() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

std::string describe(const std::string& name, const TensorSpec& spec) {
  std::string result = name + " [";
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    result += text(i == 0 ? "" : ", ", spec.shape[i]);
  }
  return text(result, "] ", neuron_sim::name(spec.dtype));
}

}  // namespace neuron_sim
