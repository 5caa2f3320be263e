// Loads the digits CNN that models/demo.py exported with TorchScript, moves it to the device and
// runs the test images: predictions, accuracy, simulated latency. Exit code 0: the predictions
// equal the CPU's; 1: they differ, or an error; 2: wrong arguments.
//
//   digits_cnn MODEL.pt TESTSET.pt [DEVICE]

#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/serialization/import.h>

#include <iostream>
#include <stdexcept>

#include "csrc/neuron_sim.h"

namespace {

constexpr int kShownPredictions = 16;

int run(const char* model_path, const char* test_path, const at::Device& device) {
  if (!device.is_privateuseone()) {
    throw std::invalid_argument("DEVICE must be neuron_sim or neuron_sim:INDEX");
  }
  const at::NoGradGuard no_grad;
  torch::jit::Module model = torch::jit::load(model_path);
  const torch::jit::Module test_set = torch::jit::load(test_path);
  const at::Tensor images = test_set.attr("images").toTensor();
  const at::Tensor labels = test_set.attr("labels").toTensor();
  const at::Tensor expected = model.forward({images}).toTensor().argmax(1);

  model.to(device);
  const at::Tensor on_device = images.to(device);
  const int index = device.has_index() ? device.index() : 0;
  const auto before = neuron_sim::simulated_time(index);
  const at::Tensor logits = model.forward({on_device}).toTensor();
  const auto latency = neuron_sim::simulated_time(index) - before;
  const at::Tensor predictions = logits.cpu().argmax(1);

  std::cout << "predictions on " << device << ":";
  for (int i = 0; i < kShownPredictions && i < predictions.size(0); ++i) {
    std::cout << ' ' << predictions[i].item<int64_t>();
  }
  const bool equal = predictions.equal(expected);
  const double accuracy = 100 * predictions.eq(labels).to(at::kFloat).mean().item<double>();
  std::cout << " ...\naccuracy: " << accuracy << " % of " << labels.size(0)
            << " images\npredictions equal to the CPU's: " << (equal ? "yes" : "no")
            << "\nsimulated latency: " << latency.microseconds() << " us\n";
  return equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: digits_cnn MODEL.pt TESTSET.pt [DEVICE]\n";
    return 2;
  }
  neuron_sim::initialize();
  try {
    return run(argv[1], argv[2], at::Device(argc == 4 ? argv[3] : "neuron_sim"));
  } catch (const c10::Error& error) {
    std::cerr << "digits_cnn: " << error.what_without_backtrace() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "digits_cnn: " << error.what() << '\n';
    return 1;
  }
}
