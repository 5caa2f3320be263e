// The custom ops as a C++ program uses them: one include, no Python.

#include "csrc/neuron_sim.h"

#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/torch.h>

#include <sstream>

namespace neuron_sim {
namespace {

const torch::Device kSecond(kDeviceType, 1);

torch::Tensor normal(torch::IntArrayRef sizes) {
  return torch::randn(sizes, torch::TensorOptions().dtype(torch::kFloat));
}

bool close(const torch::Tensor& a, const torch::Tensor& b) {
  return torch::allclose(a.cpu(), b.cpu(), 1e-4, 1e-5);
}

TEST(CustomOps, RunOnTheDeviceOfTheirInputs) {
  initialize();
  const auto a = normal({30, 40}), b = normal({40, 20}), bias = normal({20});
  const auto x = a.to(kSecond), y = b.to(kSecond), offset = bias.to(kSecond);
  const auto product = neuron_sim::matmul(x, y);
  EXPECT_EQ(product.device(), kSecond);
  EXPECT_TRUE(close(product, a.mm(b)));
  EXPECT_TRUE(torch::equal(vector_add(x, x).cpu(), a + a));
  EXPECT_TRUE(torch::equal(vector_add(x, x, "tiled", 64).cpu(), a + a));
  EXPECT_TRUE(torch::equal(neuron_sim::transpose(x).cpu(), a.t()));
  EXPECT_TRUE(close(bias_add_activation(product, offset, "relu"), (a.mm(b) + bias).relu()));
  EXPECT_TRUE(
      close(neuron_sim::rms_norm(product, offset, 0.5), torch::rms_norm(a.mm(b), {20}, bias, 0.5)));
  const auto expected = (a.mm(b) + bias).softmax(-1);
  EXPECT_TRUE(close(ffnn_forward(x, {y}, {offset}), expected));
  EXPECT_TRUE(torch::equal(ffnn_predict(x, {y}, {offset}).cpu(), expected.argmax(-1)));
}

TEST(CustomOps, TakeVariantsAndEngines) {
  const auto a = normal({30, 40}), b = normal({40, 20}), vector = normal({500});
  const auto x = a.to(kSecond), y = b.to(kSecond), z = vector.to(kSecond);
  for (const char* variant : {"tiled", "hoist_load", "block_free_dimension", "fully_optimized"}) {
    EXPECT_TRUE(close(neuron_sim::matmul(x, y, variant), a.mm(b)));
    EXPECT_TRUE(close(neuron_sim::matmul(x.t(), y, variant, /*transpose_x=*/true), a.mm(b)));
  }
  for (const char* engine : {"tensor", "vector", "dma"}) {
    EXPECT_TRUE(torch::equal(neuron_sim::transpose(x, engine).cpu(), a.t()));
  }
  EXPECT_TRUE(torch::equal(vector_add(z, z, "direct", 128, 2, 3).cpu(), vector + vector));
  EXPECT_TRUE(
      torch::equal(vector_add(z, z, "direct", 128, 2, 3, {64, 0, 32}).cpu(), vector + vector));
  EXPECT_TRUE(torch::equal(vector_add(z, z, "direct_bad", 128, 2).cpu(), vector + vector));
  EXPECT_THROW(vector_add(z, z, "direct", 128, 2, 3, {0, 0, 0}), c10::ValueError);
}

TEST(CustomOps, ConvolveWithStrideAndPaddingByHeightAndWidth) {
  const auto input = normal({1, 3, 9, 8}), weight = normal({4, 3, 3, 3}), bias = normal({4});
  const auto out = conv2d_maxpool(input.to(kSecond), weight.to(kSecond), bias.to(kSecond), 2,
                                  {2, 1}, {0, 1}, "tanh");
  const auto convolved = torch::conv2d(input, weight, bias, /*stride=*/{2, 1},
                                       /*padding=*/torch::IntArrayRef{0, 1});
  EXPECT_TRUE(close(out, torch::max_pool2d(convolved.tanh(), 2)));
}

TEST(CustomOps, ConvolveWithDilationGroupsAndOverlappingWindows) {
  const auto input = normal({2, 6, 12, 11}), weight = normal({4, 3, 3, 2}), bias = normal({4});
  const auto device = [](const at::Tensor& tensor) { return tensor.to(kSecond); };
  const auto out = conv2d_maxpool(device(input), device(weight), device(bias), {3, 2}, 1, 2, "relu",
                                  {2, 3}, /*groups=*/2, HeightWidth(2, 1));
  const auto convolved = torch::conv2d(input, weight, bias, /*stride=*/1, /*padding=*/2,
                                       /*dilation=*/{2, 3}, /*groups=*/2);
  EXPECT_TRUE(close(out, torch::max_pool2d(convolved.relu(), {3, 2}, {2, 1})));
  const auto touching = conv2d_maxpool(device(input), device(weight), device(bias), {3, 2}, 1, 2,
                                       "identity", 1, /*groups=*/2);
  EXPECT_TRUE(
      close(touching, torch::max_pool2d(torch::conv2d(input, weight, bias, 1, 2, 1, 2), {3, 2})));
}

TEST(CustomOps, HaveGradientsOnTheDevice) {
  const auto a = normal({5, 6}).to(kSecond).requires_grad_();
  const auto b = normal({6, 7}).to(kSecond).requires_grad_();
  neuron_sim::matmul(a, b).sum().backward();
  const auto ones = torch::ones({5, 7});
  EXPECT_TRUE(close(a.grad(), ones.mm(b.detach().cpu().t())));
  EXPECT_TRUE(close(b.grad(), a.detach().cpu().t().mm(ones)));
}

/// A TorchScript module with one call, as torch.jit.script makes it.
torch::jit::Module product_module() {
  torch::jit::Module module("product");
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(
      "graph(%self, %a : Tensor, %b : Tensor):\n"
      "  %variant : str = prim::Constant[value=\"auto\"]()\n"
      "  %transpose_x : bool = prim::Constant[value=0]()\n"
      "  %out : Tensor = neuron_sim::matmul(%a, %b, %variant, %transpose_x)\n"
      "  return (%out)\n",
      graph.get());
  graph->inputs()[0]->setType(module.type());
  const auto units = module._ivalue()->compilation_unit();
  module.type()->addMethod(
      units->create_function(c10::QualifiedName(*module.type()->name(), "forward"), graph));
  return module;
}

TEST(CustomOps, RunInTorchScriptLoadedFromAFile) {
  const torch::jit::Module module = product_module();
  std::stringstream file;
  module.save(file);
  torch::jit::Module loaded = torch::jit::load(file);
  const auto a = normal({5, 6}), b = normal({6, 7});
  const auto out = loaded.forward({a.to(kSecond), b.to(kSecond)}).toTensor();
  EXPECT_EQ(out.device(), kSecond);
  EXPECT_TRUE(close(out, a.mm(b)));
}

TEST(CustomOps, ThrowTheClassOfTheMistake) {
  const auto a = normal({5, 6}).to(kSecond);
  EXPECT_THROW(neuron_sim::matmul(a, a), c10::ValueError);
  EXPECT_THROW(neuron_sim::matmul(a.to(torch::kInt), a.t().to(torch::kInt)), c10::TypeError);
  EXPECT_THROW(neuron_sim::matmul(a, normal({6, 7})), c10::Error);
  EXPECT_THROW(vector_add(a, a, "fast"), c10::ValueError);
  EXPECT_TRUE(torch::equal(vector_add(a, a).cpu(), a.cpu() * 2));
}

}  // namespace
}  // namespace neuron_sim
