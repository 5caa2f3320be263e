// The feedforward network of the course's ffnn_ref.py: writes and reads its data files, and times
// the network on the simulated device.
//
//   ffnn_ref [--seed N] [--load-data [DIR]] [--store-data [DIR]] [--benchmark]
//            [--sizes BATCH,INPUT,HIDDEN,OUTPUT]
//
// Data files, as NumPy's tofile writes them, little-endian without a header, in DIR (default ffnn):
// X.bin [batch, input], W1.bin [input, hidden], b1.bin [hidden], W2.bin [hidden, output], b2.bin
// [output], all float32, and Y.bin [batch] int32, the predicted classes. Sizes are the course's,
// 2048,4096,8192,2048, unless --sizes is given. Without --load-data the inputs are those of
// numpy.random.seed(N), 152 by default.

#include <torch/torch.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "csrc/neuron_sim.h"
#include "models/cpp/numpy_data.h"

namespace {

using numpy_data::NumpyRandom;
using numpy_data::read;
using numpy_data::UsageError;
using numpy_data::write;

/// Batch, input, hidden and output.
using NetworkSizes = std::array<int64_t, 4>;

struct Settings {
  uint32_t seed = 152;
  NetworkSizes sizes = {2048, 4096, 8192, 2048};
  std::optional<std::string> load, store;
  bool benchmark = false;
};

struct Network {
  at::Tensor x, weight1, bias1, weight2, bias2;

  at::Tensor predict(const at::Device& device) const {
    return neuron_sim::ffnn_predict(x.to(device), {weight1.to(device), weight2.to(device)},
                                    {bias1.to(device), bias2.to(device)});
  }
};

Network generate(uint32_t seed, const NetworkSizes& sizes) {
  const auto& [batch, input, hidden, output] = sizes;
  NumpyRandom random(seed);
  Network network;
  network.x = random.rand({batch, input});
  network.weight1 = random.small_randn({input, hidden});
  network.bias1 = random.small_randn({hidden});
  network.weight2 = random.small_randn({hidden, output});
  network.bias2 = random.small_randn({output});
  return network;
}

Network load(const std::filesystem::path& folder, const NetworkSizes& sizes) {
  const auto& [batch, input, hidden, output] = sizes;
  const auto floats = [&](const char* name, at::IntArrayRef shape) {
    return read(folder / name, shape, at::kFloat);
  };
  Network network;
  network.x = floats("X.bin", {batch, input});
  network.weight1 = floats("W1.bin", {input, hidden});
  network.bias1 = floats("b1.bin", {hidden});
  network.weight2 = floats("W2.bin", {hidden, output});
  network.bias2 = floats("b2.bin", {output});
  return network;
}

void store(const std::filesystem::path& folder, const Network& network,
           const at::Tensor& predictions) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UsageError(c10::str(folder.string(), ": ", error.message(), "."));
  write(folder / "X.bin", network.x);
  write(folder / "W1.bin", network.weight1);
  write(folder / "b1.bin", network.bias1);
  write(folder / "W2.bin", network.weight2);
  write(folder / "b2.bin", network.bias2);
  write(folder / "Y.bin", predictions.to(at::kInt));
}

/// Whether the classes are the golden model's; prints those that are not.
bool compare(const at::Tensor& predictions, const at::Tensor& golden) {
  if (at::equal(predictions, golden)) {
    std::cout << "Predictions match the golden model.\n";
    return true;
  }
  std::cout << "Predictions do not match the golden model.\n";
  const at::Tensor different = predictions.ne(golden).nonzero().flatten();
  for (int64_t i = 0; i < different.numel(); ++i) {
    const int64_t row = different[i].item<int64_t>();
    std::cout << "Index " << row << ": Golden value = " << golden[row].item<int64_t>()
              << ", Prediction = " << predictions[row].item<int64_t>() << '\n';
  }
  return false;
}

/// Simulated milliseconds that device 0 spends on `work`.
template <typename Work>
double simulated_milliseconds(const Work& work) {
  const neuron_sim::Picoseconds start = neuron_sim::simulated_time(0);
  work();
  return (neuron_sim::simulated_time(0) - start).microseconds() / 1000;
}

/// The layers as separate kernels, as the course's nki_predict composes them.
at::Tensor layer_by_layer(const Network& on_device, const char* matmul) {
  const auto layer = [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const char* activation) {
    const at::Tensor product =
        neuron_sim::matmul(neuron_sim::transpose(x), weight, matmul, /*transpose_x=*/true);
    return neuron_sim::bias_add_activation(product, bias, activation);
  };
  const at::Tensor hidden = layer(on_device.x, on_device.weight1, on_device.bias1, "relu");
  return layer(hidden, on_device.weight2, on_device.bias2, "softmax");
}

bool benchmark(const Network& network, const at::Tensor& golden) {
  const at::Device device(neuron_sim::kDeviceType, 0);
  const Network there{network.x.to(device), network.weight1.to(device), network.bias1.to(device),
                      network.weight2.to(device), network.bias2.to(device)};
  at::Tensor predictions;
  std::cout << "Benchmarking prediction on ffnn...\n";
  const double fused = simulated_milliseconds([&] { predictions = there.predict(device); });
  std::cout << "Simulated time for prediction on ffnn: " << fused << " ms\n";
  bool good = compare(predictions.cpu(), golden);
  for (const char* matmul : {"tiled", "hoist_load", "block_free_dimension", "fully_optimized"}) {
    at::Tensor probabilities;
    const double time =
        simulated_milliseconds([&] { probabilities = layer_by_layer(there, matmul); });
    std::cout << "Simulated time for the forward pass using matmul version " << matmul << ": "
              << time << " ms\n";
    good &= compare(probabilities.cpu().argmax(1), golden);
  }
  return good;
}

int64_t whole_number(const std::string& option, const std::string& text, int64_t least,
                     int64_t most) {
  size_t used = 0;
  int64_t value = 0;
  try {
    value = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (text.empty() || used != text.size() || value < least || value > most) {
    throw UsageError(
        c10::str(option, ": '", text, "' is not a whole number from ", least, " to ", most, "."));
  }
  return value;
}

NetworkSizes parse_sizes(const std::string& text) {
  std::vector<std::string> numbers(1);
  for (const char character : text) {
    if (character == ',') {
      numbers.emplace_back();
    } else {
      numbers.back() += character;
    }
  }
  NetworkSizes sizes{};
  if (numbers.size() != sizes.size()) {
    throw UsageError(c10::str("--sizes: '", text, "' has ", numbers.size(),
                              " numbers, expected 4 (batch, input, hidden, output)."));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = whole_number("--sizes", numbers[i], 1, int64_t{1} << 20);
  }
  return sizes;
}

Settings parse(const std::vector<std::string>& arguments) {
  Settings settings;
  size_t at = 0;
  const auto has_value = [&] {
    return at + 1 < arguments.size() && arguments[at + 1].rfind("--", 0) != 0;
  };
  const auto value = [&] {
    if (!has_value()) throw UsageError(c10::str(arguments[at], " needs a value."));
    return arguments[++at];
  };
  const auto folder = [&] { return has_value() ? arguments[++at] : std::string("ffnn"); };
  for (; at < arguments.size(); ++at) {
    const std::string& option = arguments[at];
    if (option == "--seed") {
      settings.seed = static_cast<uint32_t>(whole_number(option, value(), 0, UINT32_MAX));
    } else if (option == "--sizes") {
      settings.sizes = parse_sizes(value());
    } else if (option == "--load-data") {
      settings.load = folder();
    } else if (option == "--store-data") {
      settings.store = folder();
    } else if (option == "--benchmark") {
      settings.benchmark = true;
    } else {
      throw UsageError(c10::str("'", option,
                                "' is unknown; the options are --seed, --sizes, --load-data, "
                                "--store-data and --benchmark."));
    }
  }
  return settings;
}

/// "[3 1 4 ... 1 5 9]".
std::string shortened(const at::Tensor& classes) {
  std::string text = "[";
  for (int64_t i = 0; i < classes.numel(); ++i) {
    if (i == 3 && classes.numel() > 6) {
      text += " ...";
      i = classes.numel() - 3;
    }
    if (i > 0) text += ' ';
    text += std::to_string(classes[i].item<int64_t>());
  }
  return text + "]";
}

/// Whether the benchmark, if any, found the golden model's classes.
bool run(const Settings& settings) {
  Network network;
  at::Tensor golden;
  if (settings.load) {
    std::cout << "Loading input, weights, and biases...\n";
    network = load(*settings.load, settings.sizes);
  } else {
    std::cout << "Generating random input, weights, and biases...\n";
    network = generate(settings.seed, settings.sizes);
  }
  // The golden model: the file when there is data to load and nothing to store, else the CPU's.
  if (settings.load && !settings.store) {
    golden = read(std::filesystem::path(*settings.load) / "Y.bin", {settings.sizes[0]}, at::kInt)
                 .to(at::kLong);
  } else {
    golden = network.predict(at::kCPU);
  }
  std::cout << "Predicted class indices:\n" << shortened(golden) << '\n';
  if (settings.store) {
    std::cout << "Storing input, weights, biases, and results...\n";
    store(*settings.store, network, golden);
  }
  return !settings.benchmark || benchmark(network, golden);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    neuron_sim::initialize();
    const torch::NoGradGuard no_grad;
    return run(parse({arguments + 1, arguments + count})) ? 0 : 1;
  } catch (const UsageError& error) {
    std::cerr << "ffnn_ref: " << error.what() << '\n';
  } catch (const c10::Error& error) {
    std::cerr << "ffnn_ref: " << error.what_without_backtrace() << '\n';
  }
  return 2;
}
