// Runs a program of torch.export (a .pt2 file, see models/resnet.py) without Python, on the CPU and
// on the device: largest difference of each output, simulated time, and the time of each operator.
// Exit code 0: the outputs are the CPU's; 1: they differ, or an error; 2: wrong arguments.
//
//   run_exported PROGRAM.pt2 [INPUTS.pt] [--device DEVICE]
//
// INPUTS.pt is a list of tensors written by torch.save; without it the inputs are those that the
// program was exported with, which torch.export.save keeps in the file.

#include <torch/torch.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "csrc/neuron_sim.h"
#include "models/cpp/exported_program.h"
#include "models/cpp/operator_times.h"

namespace {

constexpr double kTolerance = 1e-3;

/// The tensors in a value of lists, tuples and dictionaries, in order.
void collect(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    tensors.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) collect(element, tensors);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) collect(element, tensors);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) collect(entry.value(), tensors);
  }
}

std::vector<at::Tensor> read_inputs(const std::string& program, const std::string& inputs) {
  std::string bytes;
  if (inputs.empty()) {
    bytes = exported_program::Archive(program).read("data/sample_inputs/model.pt");
  } else {
    std::ifstream file(inputs, std::ios::binary);
    TORCH_CHECK_VALUE(file.good(), inputs, " cannot be opened.");
    bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::vector<at::Tensor> tensors;
  collect(torch::pickle_load({bytes.begin(), bytes.end()}), tensors);
  return tensors;
}

/// Relative to the largest number expected.
double difference(const at::Tensor& found, const at::Tensor& expected) {
  if (expected.numel() == 0) return 0;
  const at::Tensor exact = expected.to(at::kDouble);
  const double largest = exact.abs().max().item<double>();
  const double most = (found.cpu().to(at::kDouble) - exact).abs().max().item<double>();
  return largest > 0 ? most / largest : most;
}

int run(const std::string& path, const std::string& inputs_path, const torch::Device& device) {
  const torch::InferenceMode no_grad;
  const std::vector<at::Tensor> inputs = read_inputs(path, inputs_path);
  exported_program::ExportedProgram host(path, torch::kCPU), there(path, device);
  const std::vector<at::Tensor> expected = host.run(inputs);
  std::vector<at::Tensor> on_device;
  for (const at::Tensor& input : inputs) on_device.push_back(input.to(device));

  const int index = device.has_index() ? device.index() : 0;
  const auto before = neuron_sim::simulated_time(index);
  const operator_times::Account account(index);
  const std::vector<at::Tensor> found = there.run(on_device);
  const auto latency = neuron_sim::simulated_time(index) - before;

  bool good = true;
  for (size_t i = 0; i < found.size(); ++i) {
    const double apart = difference(found[i], expected[i]);
    good = good && apart < kTolerance;
    std::cout << "output " << i << ": " << found[i].scalar_type() << ' ' << found[i].sizes()
              << ", largest relative difference to the CPU " << apart << '\n';
  }
  std::cout << "simulated time: " << latency.microseconds() << " us, by operator:\n";
  account.print(std::cout);
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  std::string device = "neuron_sim";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--device" && i + 1 < argc) {
      device = argv[++i];
    } else {
      paths.push_back(argument);
    }
  }
  if (paths.empty() || paths.size() > 2 || paths[0].rfind("--", 0) == 0) {
    std::cerr << "usage: run_exported PROGRAM.pt2 [INPUTS.pt] [--device DEVICE]\n";
    return 2;
  }
  neuron_sim::initialize();
  try {
    return run(paths[0], paths.size() > 1 ? paths[1] : "", torch::Device(device));
  } catch (const c10::Error& error) {
    std::cerr << "run_exported: " << error.what_without_backtrace() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "run_exported: " << error.what() << '\n';
  }
  return 1;
}
