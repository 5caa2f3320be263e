#include "ops/copies/rows_by_index.h"

#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

/// operands[0] is changed; the result only says that the kernel ran.
EmitKernel scatter(bool add) {
  return [=](Builder& builder, HbmTensors operands, HbmTensors) {
    emit_scatter_rows(builder, operands.subspan(1), operands.first(1), {add});
  };
}

std::vector<double> random_indices(int64_t count, int64_t rows, unsigned seed) {
  std::vector<double> indices = random_values(count, 0, static_cast<double>(rows), seed);
  for (double& index : indices) index = std::floor(index);
  return indices;
}

ErrorKind kind_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const KernelError& error) {
    return error.kind();
  }
  return ErrorKind::kRuntime;
}

class RowsByIndex : public ::testing::TestWithParam<const char*> {
 protected:
  const Architecture& architecture() const { return load_architecture(GetParam()); }

  void check_gather(int64_t rows, int64_t width, int64_t count, Dtype dtype = Dtype::kFloat32,
                    std::vector<int64_t> index_strides = {}) const {
    SCOPED_TRACE(text(rows, " rows of ", width, ", ", count, " indices"));
    HostTensor table({{rows, width}, {}, dtype}, random_values(rows * width, -50, 50)),
        indices({{count}, std::move(index_strides), Dtype::kInt32}, random_indices(count, rows, 9));
    HostTensor actual = run_kernel(architecture(), emit_gather_rows, {&table, &indices},
                                   {{{count, width}, {}, dtype}})
                            .front();
    const std::vector<double> values = table.values(), named = indices.values();
    std::vector<double> expected;
    for (const double index : named) {
      for (int64_t j = 0; j < width; ++j) {
        expected.push_back(values[static_cast<size_t>(static_cast<int64_t>(index) * width + j)]);
      }
    }
    expect_values(actual.values(), expected);
  }

  void check_scatter(int64_t rows, int64_t width, int64_t count, bool add, Dtype dtype) const {
    SCOPED_TRACE(text(rows, " rows of ", width, ", ", count, " indices, add ", int{add}));
    HostTensor table({{rows, width}, {}, dtype}, random_values(rows * width, -4, 4, 1)),
        indices({{count}, {}, Dtype::kInt32}, random_indices(count, rows, 2)),
        source({{count, width}, {}, dtype}, random_values(count * width, -4, 4, 3));
    std::vector<double> expected = table.values();
    const std::vector<double> named = indices.values(), given = source.values();
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        double& at = expected[static_cast<size_t>(
            static_cast<int64_t>(named[static_cast<size_t>(i)]) * width + j)];
        const double value = given[static_cast<size_t>(i * width + j)];
        at = add ? round_to(dtype, static_cast<float>(at) + static_cast<float>(value)) : value;
      }
    }
    // Equal indices write a row twice: the last one counts.
    run_in_place(architecture(), scatter(add), {&table, &indices, &source},
                 {Rule::kWrittenTwice, Rule::kOverwrittenOutput});
    expect_values(table.values(), expected);
  }
};

TEST_P(RowsByIndex, GathersRowsWithRepeatedIndices) {
  check_gather(1, 1, 1);
  check_gather(10, 7, 300);
  check_gather(1000, 64, 129);
  check_gather(3, 9001, 5);
  check_gather(50, 33, 128, Dtype::kBfloat16);
  check_gather(50, 33, 127, Dtype::kInt8);
  check_gather(50, 33, 40, Dtype::kFloat32, {2});
  check_gather(50, 33, 40, Dtype::kFloat32, {0});
}

TEST_P(RowsByIndex, TheLastOfEqualIndicesIsWritten) {
  check_scatter(10, 7, 4, false, Dtype::kFloat32);
  check_scatter(10, 7, 300, false, Dtype::kFloat32);
  check_scatter(500, 33, 129, false, Dtype::kBfloat16);
  check_scatter(4, 9001, 3, false, Dtype::kFloat32);
}

TEST_P(RowsByIndex, EqualIndicesAddOneAfterTheOther) {
  check_scatter(10, 7, 300, true, Dtype::kFloat32);
  check_scatter(1, 3, 260, true, Dtype::kFloat32);
  check_scatter(500, 33, 129, true, Dtype::kFloat32);
  check_scatter(20, 65, 200, true, Dtype::kBfloat16);
  check_scatter(4, 9001, 3, true, Dtype::kFloat32);
}

TEST_P(RowsByIndex, IndicesOutsideOfTheTableAreIndexErrors) {
  for (const double index : {-1.0, 6.0, 2147483647.0, -2147483648.0}) {
    HostTensor table({{6, 5}, {}}, std::vector<double>(30, 1.0)),
        indices({{3}, {}, Dtype::kInt32}, {0, index, 5}),
        source({{3, 5}, {}}, std::vector<double>(15, 2.0));
    EXPECT_EQ(kind_of([&] {
                run_kernel(architecture(), emit_gather_rows, {&table, &indices}, {{{3, 5}, {}}});
              }),
              ErrorKind::kIndex)
        << index;
    for (const bool add : {false, true}) {
      EXPECT_EQ(kind_of([&] {
                  run_in_place(architecture(), scatter(add), {&table, &indices, &source});
                }),
                ErrorKind::kIndex)
          << index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, RowsByIndex, ::testing::Values("trn1", "trn2", "trn3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace neuron_sim
