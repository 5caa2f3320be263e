// Calls the custom ops of neuron_sim from a LibTorch program and compares them with torch's own.

#include <torch/torch.h>

#include <iostream>

#include "csrc/neuron_sim.h"

namespace {

/// Prints the largest difference and whether it is small.
bool report(const char* op, const at::Tensor& ours, const at::Tensor& expected) {
  const double difference = (ours.cpu() - expected).abs().max().item<double>();
  const bool close = torch::allclose(ours.cpu(), expected, 1e-4, 1e-4);
  std::cout << op << ": max difference to torch " << difference << (close ? "" : "  WRONG") << '\n';
  return close;
}

}  // namespace

int main() {
  neuron_sim::initialize();
  torch::manual_seed(0);
  const torch::NoGradGuard no_grad;
  const torch::Device device("neuron_sim");
  const at::Tensor a = torch::randn({300, 70}), b = torch::randn({70, 130});
  const at::Tensor bias = torch::randn({130});
  const at::Tensor image = torch::randn({2, 3, 18, 18}), filters = torch::randn({5, 3, 3, 3});
  const at::Tensor filter_bias = torch::randn({5});

  bool good = report("vector_add", neuron_sim::vector_add(a.to(device), a.to(device)), a + a);
  good &= report("matmul", neuron_sim::matmul(a.to(device), b.to(device)), a.matmul(b));
  good &= report("transpose", neuron_sim::transpose(a.to(device)), a.t());
  const at::Tensor product = a.matmul(b);
  good &= report("bias_add_activation",
                 neuron_sim::bias_add_activation(product.to(device), bias.to(device), "gelu"),
                 torch::gelu(product + bias));
  good &= report(
      "conv2d_maxpool",
      neuron_sim::conv2d_maxpool(image.to(device), filters.to(device), filter_bias.to(device), 2),
      torch::max_pool2d(torch::conv2d(image, filters, filter_bias), 2));
  try {
    neuron_sim::matmul(a.to(device), a.to(device));
    std::cout << "a wrong shape was accepted\n";
    good = false;
  } catch (const c10::Error& error) {
    std::cout << "wrong shape: " << error.what_without_backtrace() << '\n';
  }
  std::cout << "simulated time of device 0: " << neuron_sim::simulated_time(0).microseconds()
            << " us\n";
  return good ? 0 : 1;
}
