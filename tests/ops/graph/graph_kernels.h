#pragma once
// What tests of graphs share: kernels over numbered memories, run as one program or on the host.

#include <set>

#include "ops/contract/kernel_definition.h"
#include "ops/graph/fuse_pointwise.h"
#include "ops/graph/pipeline.h"
#include "tests/ops/pointwise/evaluated_expression.h"

namespace neuron_sim {

/// Contents of the memories of a graph.
using HostMemories = std::vector<std::vector<std::byte>>;

/// `first`: elements of the memory before the tensor's first one. Dense without `strides`.
inline GraphTensor tensor_in(size_t memory, const std::vector<int64_t>& shape,
                             const std::vector<int64_t>& strides = {}, int64_t first = 0,
                             Dtype dtype = Dtype::kFloat32) {
  const bool dense = strides.empty();
  return {memory, first * itemsize(dtype), dtype, shape, dense ? dense_strides(shape) : strides};
}

inline GraphKernel kernel_of(const Expression& expression, std::vector<GraphTensor> operands,
                             std::vector<GraphTensor> results) {
  GraphKernel kernel{"kernel", pointwise_kernel(expression), std::move(operands),
                     std::move(results)};
  kernel.traits.set(expression);
  return kernel;
}

/// A kernel as an operator launches it in a graph.
template <typename Options>
GraphKernel kernel_of(const KernelDefinition<Options>& kernel,
                      const std::type_identity_t<Options>& options,
                      std::vector<GraphTensor> operands, std::vector<GraphTensor> results) {
  std::vector<TensorSpec> specs;
  for (const GraphTensor& operand : operands) {
    specs.push_back({operand.shape, operand.strides, operand.dtype});
  }
  return {kernel.name, with_options(kernel.emit, options), std::move(operands), std::move(results),
          kernel.traits(specs, options)};
}

/// A kernel with the one result that `write` returns.
inline GraphKernel pointwise(const WriteExpression& write, std::vector<GraphTensor> operands,
                             GraphTensor result, Domain domain = Domain::kFloat) {
  return kernel_of(written(write, domain), std::move(operands), {std::move(result)});
}

/// The kernels, with what those at `places` compute unknown.
inline std::vector<GraphKernel> hidden(std::vector<GraphKernel> kernels,
                                       const std::set<size_t>& places) {
  for (const size_t place : places) kernels.at(place).traits = {};
  return kernels;
}

/// Calls at(operand bytes, result bytes) for every element of a kernel in row-major order.
template <typename Visit>
void for_each_element(const GraphKernel& kernel, HostMemories& memories, const Visit& at) {
  const std::vector<int64_t>& shape = kernel.results.front().shape;
  const int64_t count = TensorSpec{shape, {}}.elements();
  for (int64_t i = 0; i < count; ++i) {
    const auto address = [&](const GraphTensor& tensor) {
      int64_t left = i, byte = tensor.byte_offset;
      for (size_t d = shape.size(); d-- > 0;) {
        byte += left % shape[d] * tensor.strides[d] * itemsize(tensor.dtype);
        left /= shape[d];
      }
      return memories.at(tensor.memory).data() + byte;
    };
    std::vector<std::byte*> operands, results;
    for (const GraphTensor& operand : kernel.operands) operands.push_back(address(operand));
    for (const GraphTensor& result : kernel.results) results.push_back(address(result));
    at(operands, results);
  }
}

/// The oracle: one kernel after the other, element by element, in fp32.
inline void evaluate(const std::vector<GraphKernel>& kernels, HostMemories& memories) {
  for (const GraphKernel& kernel : kernels) {
    const Expression& expression = *kernel.traits.as<Expression>();
    for_each_element(kernel, memories, [&](const auto& operands, const auto& results) {
      std::vector<float> inputs(operands.size());
      for (size_t i = 0; i < operands.size(); ++i) {
        load_floats(operands[i], kernel.operands[i].dtype, 0, &inputs[i], 1);
      }
      const std::vector<float> values = evaluated(expression, inputs);
      for (size_t r = 0; r < results.size(); ++r) {
        const float value = values[static_cast<size_t>(expression.results()[r])];
        store_floats(&value, results[r], kernel.results[r].dtype, 0, 1);
      }
    });
  }
}

/// Multiples of 1/4 between -2 and 2 in memories of so many fp32 elements.
inline HostMemories random_memories(const std::vector<int64_t>& elements, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  HostMemories memories;
  for (const int64_t count : elements) {
    std::vector<std::byte> bytes(static_cast<size_t>((count + 1) / 2 * 8));
    for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      const float value = static_cast<float>(random() % 17) / 4 - 2;
      std::memcpy(bytes.data() + i, &value, sizeof(value));
    }
    memories.push_back(std::move(bytes));
  }
  return memories;
}

inline std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Executes the program of a graph on these memories.
inline void run_graph(const GraphProgram& built, HostMemories& memories) {
  std::vector<std::byte*> arguments;
  for (const GraphArgument& argument : built.arguments) {
    arguments.push_back(memories.at(argument.memory).data() + argument.byte_offset);
  }
  ThreadPool pool(1);
  CoreMemory memory(*built.program->architecture);
  execute(*built.program, make_plan(*built.program), memory, arguments, pool);
}

/// Which memories are read after the graph.
using External = std::set<size_t>;
inline std::function<bool(size_t)> is_in(const External& external) {
  return [external](size_t memory) { return external.contains(memory); };
}

/// The kernels after one pass of the pipeline, which is verified.
inline std::vector<GraphKernel> after(std::string_view name, std::vector<GraphKernel> kernels,
                                      const std::function<bool(size_t)>& is_external,
                                      const char* architecture = "trn2") {
  Graph graph{std::move(kernels), is_external, load_architecture(architecture)};
  for (const GraphPass& pass : graph_pipeline()) {
    if (pass.name == name) run_graph_pass(pass, graph);
  }
  return std::move(graph.kernels);
}

/// Kernels one by one as they are, each writes what it computes.
inline GraphProgramOptions plain() { return {.fuse = false, .passes = {}}; }

inline GraphProgram built_graph(const std::vector<GraphKernel>& kernels, const External& external,
                                const GraphProgramOptions& options, const char* name = "trn2") {
  return build_graph_program(load_architecture(name), "graph", kernels, is_in(external), options);
}

/// Runs the graph as it is, joined, compiled and both, without the expressions at `places`; the
/// external memories hold the host's values each time, and the same bytes. Kernels that are left
/// after joining.
inline size_t kernels_left(const std::vector<GraphKernel>& kernels, const External& external,
                           const HostMemories& before, const std::set<size_t>& places = {},
                           const char* name = "trn2") {
  HostMemories expected = before, one_by_one;
  evaluate(kernels, expected);
  size_t left = 0;
  for (const GraphProgramOptions& options :
       {plain(), GraphProgramOptions{.fuse = false}, GraphProgramOptions{.passes = {}},
        GraphProgramOptions{}}) {
    const GraphProgram built = built_graph(hidden(kernels, places), external, options, name);
    HostMemories actual = before;
    run_graph(built, actual);
    if (one_by_one.empty()) one_by_one = actual;
    for (const size_t memory : external) {
      SCOPED_TRACE(text("memory ", memory, options.fuse ? ", joined" : "",
                        options.passes == PassSettings{} ? "" : ", compiled"));
      EXPECT_EQ(floats(actual[memory]), floats(expected[memory]));
      EXPECT_EQ(actual[memory], one_by_one[memory]);
    }
    left = built.kernels;
  }
  return left;
}

}  // namespace neuron_sim
