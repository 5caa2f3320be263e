// Classifies PNG and JPEG files with a TorchScript network (models/resnet.py writes one): top five
// classes per image, simulated time of the batch and of each operator. Exit code 0: the results
// are the CPU's; 1: they differ, or an error; 2: wrong arguments.
//
//   classify_images MODEL.pt [--device DEVICE] [--size PIXELS] IMAGE...

#include <torch/script.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "csrc/neuron_sim.h"
#include "models/cpp/image_files.h"
#include "models/cpp/operator_times.h"

namespace {

constexpr int64_t kShown = 5;
constexpr double kTolerance = 1e-3;

struct Settings {
  std::string model;
  std::vector<std::string> images;
  std::string device = "neuron_sim";
  int64_t size = 224;
};

bool parse(int argc, char** argv, Settings& settings) {
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--device" && i + 1 < argc) {
      settings.device = argv[++i];
    } else if (argument == "--size" && i + 1 < argc) {
      settings.size = std::atoll(argv[++i]);
    } else if (argument.rfind("--", 0) == 0) {
      return false;
    } else {
      names.push_back(argument);
    }
  }
  if (names.size() < 2 || settings.size < 32) return false;
  settings.model = names[0];
  settings.images.assign(names.begin() + 1, names.end());
  return true;
}

at::Tensor read_batch(const Settings& settings) {
  std::vector<at::Tensor> images;
  for (const std::string& path : settings.images) {
    images.push_back(image_files::prepare(image_files::read(path), settings.size));
  }
  return torch::cat(images);
}

void print_classes(const std::string& path, const at::Tensor& probabilities) {
  const auto [shares, classes] = probabilities.topk(std::min(kShown, probabilities.size(0)));
  std::printf("%s:", path.c_str());
  for (int64_t i = 0; i < shares.size(0); ++i) {
    std::printf(" %lld (%.2f %%)", static_cast<long long>(classes[i].item<int64_t>()),
                100 * shares[i].item<double>());
  }
  std::printf("\n");
}

int run(const Settings& settings) {
  const torch::Device device(settings.device);
  if (!device.is_privateuseone()) {
    throw std::invalid_argument("DEVICE must be neuron_sim or neuron_sim:INDEX");
  }
  const torch::NoGradGuard no_grad;
  torch::jit::Module model = torch::jit::load(settings.model);
  model.eval();
  const at::Tensor batch = read_batch(settings);
  const at::Tensor expected = model.forward({batch}).toTensor().softmax(1);

  model.to(device);
  const at::Tensor there = batch.to(device);
  const int index = device.has_index() ? device.index() : 0;
  const auto before = neuron_sim::simulated_time(index);
  at::Tensor logits;
  const operator_times::Account account(index);
  logits = model.forward({there}).toTensor();
  const auto latency = neuron_sim::simulated_time(index) - before;
  const at::Tensor found = logits.cpu().softmax(1);

  for (size_t i = 0; i < settings.images.size(); ++i) {
    print_classes(settings.images[i], found[static_cast<int64_t>(i)]);
  }
  const double difference = ((found - expected).abs().max() / expected.max()).item<double>();
  std::cout << "largest difference to the CPU, relative to the largest probability: " << difference
            << "\nsimulated time of the batch of " << batch.size(0) << ": "
            << latency.microseconds() << " us, by operator:\n";
  account.print(std::cout);
  return difference < kTolerance ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    std::cerr << "usage: classify_images MODEL.pt [--device DEVICE] [--size PIXELS] IMAGE...\n";
    return 2;
  }
  neuron_sim::initialize();
  try {
    return run(settings);
  } catch (const c10::Error& error) {
    std::cerr << "classify_images: " << error.what_without_backtrace() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "classify_images: " << error.what() << '\n';
  }
  return 1;
}
