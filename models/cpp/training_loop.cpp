// Trains a network with LibTorch, on the CPU and on the device from the same weights and batches:
// torch::nn::Module::to, an optimizer, backward. Prints both losses, the simulated time of a step
// and where it goes. Exit code 0: the losses fall and stay together; 1: they do not, or an error;
// 2: wrong arguments.
//
//   training_loop [STEPS] [DEVICE]

#include <torch/torch.h>

#include <cmath>
#include <iostream>

#include "csrc/neuron_sim.h"
#include "models/cpp/operator_times.h"

namespace {

constexpr int64_t kClasses = 3, kBatch = 96, kHidden = 64;
// Both sides compute in fp32, in different orders; Adam amplifies the differences.
constexpr double kTolerance = 1e-3;

struct Network : torch::nn::Module {
  Network()
      : first(register_module("first", torch::nn::Linear(2, kHidden))),
        second(register_module("second", torch::nn::Linear(kHidden, kHidden))),
        last(register_module("last", torch::nn::Linear(kHidden, kClasses))) {}

  at::Tensor forward(const at::Tensor& points) {
    return last(torch::relu(second(torch::relu(first(points)))));
  }

  torch::nn::Linear first, second, last;
};

struct Batch {
  at::Tensor points, labels;
};

/// Points of a plane on `kClasses` arms of a spiral, with noise: no line separates them.
Batch spirals() {
  const at::Tensor labels = torch::arange(kBatch) % kClasses;
  const at::Tensor radius = torch::rand({kBatch}) * 0.9 + 0.1;
  const at::Tensor angle =
      radius * 4 + labels * (2 * M_PI / kClasses) + torch::randn({kBatch}) * 0.1;
  return {torch::stack({radius * torch::cos(angle), radius * torch::sin(angle)}, 1), labels};
}

double step(Network& network, torch::optim::Optimizer& optimizer, const Batch& batch,
            const torch::Device& device) {
  optimizer.zero_grad();
  const at::Tensor logits = network.forward(batch.points.to(device));
  const at::Tensor loss = torch::nn::functional::cross_entropy(logits, batch.labels.to(device));
  loss.backward();
  optimizer.step();
  return loss.item<double>();
}

void copy_weights(const Network& from, Network& to) {
  const torch::NoGradGuard no_grad;
  const auto source = from.parameters();
  auto target = to.parameters();
  for (size_t i = 0; i < source.size(); ++i) target[i].copy_(source[i]);
}

int run(int steps, const torch::Device& device) {
  torch::manual_seed(0);
  Network host, there;
  copy_weights(host, there);
  there.to(device);
  torch::optim::Adam host_optimizer(host.parameters(), 0.01);
  torch::optim::Adam optimizer(there.parameters(), 0.01);
  const int index = device.has_index() ? device.index() : 0;

  double first = 0, last = 0, worst = 0;
  const operator_times::Account account(index);
  for (int i = 0; i < steps; ++i) {
    const Batch batch = spirals();
    const double expected = step(host, host_optimizer, batch, torch::kCPU);
    last = step(there, optimizer, batch, device);
    if (i == 0) first = last;
    worst = std::max(worst, std::abs(last - expected) / std::max(expected, 1e-3));
    if (i % 10 == 0 || i == steps - 1) {
      std::cout << "step " << i << ": loss " << last << ", on the CPU " << expected << '\n';
    }
  }
  const double time = neuron_sim::simulated_time(index).microseconds();
  std::cout << "largest relative difference of a loss: " << worst
            << "\nsimulated time per step: " << time / steps << " us, by operator:\n";
  account.print(std::cout);
  return last < first && worst < kTolerance ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 50;
  if (argc > 3 || steps < 1) {
    std::cerr << "usage: training_loop [STEPS] [DEVICE]\n";
    return 2;
  }
  neuron_sim::initialize();
  try {
    return run(steps, torch::Device(argc > 2 ? argv[2] : "neuron_sim"));
  } catch (const c10::Error& error) {
    std::cerr << "training_loop: " << error.what_without_backtrace() << '\n';
    return 1;
  }
}
