#pragma once
// Runs a built op on host arrays: values go in as doubles, come out as doubles.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "device/check/checked_run.h"
#include "device/timeline/timeline.h"
#include "ops/contract/operand_checks.h"
#include "ops/contract/tensor_spec.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {

/// A tensor in host memory with the strides of its spec.
class HostTensor {
 public:
  /// Row-major values, rounded to the dtype.
  HostTensor(TensorSpec spec, const std::vector<double>& values) : HostTensor(std::move(spec)) {
    for_each([&](std::byte* at, size_t i) {
      if (is_float(spec_.dtype)) {
        const float value = static_cast<float>(values.at(i));
        store_floats(&value, at, spec_.dtype, 0, 1);
      } else {
        const auto value = static_cast<int64_t>(values.at(i));
        store_integers(&value, at, spec_.dtype, 0, 1);
      }
    });
  }
  explicit HostTensor(TensorSpec spec) : spec_(std::move(spec)) {
    const std::vector<int64_t> strides = strides_of(spec_);
    int64_t last = 0;
    for (size_t i = 0; i < strides.size(); ++i) last += (spec_.shape[i] - 1) * strides[i];
    if (spec_.elements() == 0) last = -1;
    storage_.assign(static_cast<size_t>((last + 1) * itemsize(spec_.dtype)), std::byte{0xA5});
  }

  const TensorSpec& spec() const { return spec_; }
  std::byte* data() { return storage_.data(); }
  /// Row-major values.
  std::vector<double> values() {
    std::vector<double> result;
    for_each([&](std::byte* at, size_t) {
      if (is_float(spec_.dtype)) {
        float value = 0;
        load_floats(at, spec_.dtype, 0, &value, 1);
        result.push_back(value);
      } else {
        int64_t value = 0;
        load_integers(at, spec_.dtype, 0, &value, 1);
        result.push_back(static_cast<double>(value));
      }
    });
    return result;
  }
  /// Row-major raw bits, zero extended.
  std::vector<uint32_t> bits() {
    std::vector<uint32_t> result;
    for_each([&](std::byte* at, size_t) {
      uint32_t raw = 0;
      std::memcpy(&raw, at, static_cast<size_t>(itemsize(spec_.dtype)));
      result.push_back(raw);
    });
    return result;
  }
  void set_bits(const std::vector<uint32_t>& values) {
    for_each([&](std::byte* at, size_t i) {
      std::memcpy(at, &values.at(i), static_cast<size_t>(itemsize(spec_.dtype)));
    });
  }

 private:
  template <typename Visit>
  void for_each(const Visit& visit) {
    const std::vector<int64_t> strides = strides_of(spec_);
    const int64_t count = spec_.elements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t left = i, offset = 0;
      for (size_t d = strides.size(); d-- > 0;) {
        offset += left % spec_.shape[d] * strides[d];
        left /= spec_.shape[d];
      }
      visit(storage_.data() + offset * itemsize(spec_.dtype), static_cast<size_t>(i));
    }
  }

  TensorSpec spec_;
  std::vector<std::byte> storage_;
};

/// Expects that the checker found nothing in a kernel but what is `allowed`. Of a strided output
/// the bytes between its elements stay as they are.
inline void expect_no_findings(const std::vector<Finding>& findings, const BuiltOp& built,
                               const std::vector<Rule>& allowed) {
  const auto is_dense = [](const TensorSpec& spec) {
    return strides_of(spec) == strides_of({spec.shape, {}, spec.dtype});
  };
  const bool dense = is_dense(built.output) && std::all_of(built.further_outputs.begin(),
                                                           built.further_outputs.end(), is_dense);
  for (const Finding& finding : findings) {
    if (std::count(allowed.begin(), allowed.end(), finding.rule) > 0) continue;
    if (!dense && finding.rule == Rule::kUnwrittenOutput) continue;
    ADD_FAILURE() << entry_of(finding.rule).name << ": " << finding.message;
  }
}

/// Executes the program on these inputs, under the checker; all its outputs as tensors.
inline std::vector<HostTensor> run_outputs(const BuiltOp& built, std::vector<HostTensor*> inputs,
                                           const std::vector<Rule>& allowed = {}) {
  std::vector<HostTensor> outputs{HostTensor(built.output)};
  for (const TensorSpec& spec : built.further_outputs) outputs.emplace_back(spec);
  if (built.program == nullptr) return outputs;
  std::vector<std::byte*> arguments;
  for (HostTensor* input : inputs) arguments.push_back(input->data());
  for (HostTensor& output : outputs) arguments.push_back(output.data());
  EXPECT_EQ(arguments.size(), built.program->arguments.size());
  CoreMemory memory(*built.program->architecture);
  CoreMemory* const memories[] = {&memory};
  std::vector<Finding> findings;
  checked_run(*built.program, make_plan(*built.program), {memories, arguments}, thread_pool(),
              {inputs.size(), {}, false}, {}, findings);
  expect_no_findings(findings, built, allowed);
  return outputs;
}

/// The first (mostly the only) output.
inline HostTensor run_op(const BuiltOp& built, std::vector<HostTensor*> inputs) {
  return run_outputs(built, std::move(inputs)).front();
}

/// Simulated kernel body in microseconds.
inline double simulated_microseconds(const BuiltOp& built) {
  return simulate(*built.program).body.microseconds();
}

/// |actual - expected| <= tolerance * (1 + |expected|), NaN equals NaN, infinities are equal.
inline void expect_close(const std::vector<double>& actual, const std::vector<double>& expected,
                         double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool special = !std::isfinite(expected[i]);
    const bool same = std::isnan(expected[i]) ? std::isnan(actual[i]) : actual[i] == expected[i];
    const double error = std::abs(actual[i] - expected[i]);
    ASSERT_TRUE(special ? same : error <= tolerance * (1 + std::abs(expected[i])))
        << "element " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

/// Rounding error of one conversion to that dtype, relative.
inline double unit_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16: return 0x1p-10;
    case Dtype::kBfloat16: return 0x1p-7;
    default: return 0x1p-20;
  }
}

/// The sentence of the KernelError that `body` throws, "" when it throws none.
template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

}  // namespace neuron_sim
