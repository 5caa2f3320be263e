#include "ops/pointwise/row_spreader.h"

#include "ops/blocks/tiles.h"
#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

/// out[p, :] = the row, for as many partitions as out has.
void spread(Builder& builder, HbmTensors operands, HbmTensors results) {
  const View row = operands[0].view(), out = results[0].view();
  RowSpreader spreader(builder, row.dtype(), row.size(1), true);
  spreader.load(row, 0);
  const View tile = builder.sbuf("tile", {out.size(0), out.size(1)}, row.dtype());
  spreader.spread(tile);
  store(builder, out, tile);
}

TEST(RowSpreader, EveryPartitionGetsTheValuesOfTheRow) {
  for (const char* const name : {"trn1", "trn2"}) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
      for (const int64_t columns : {1, 511, 512, 513, 1100}) {
        for (const int64_t partitions : {1, 127, 128}) {
          HostTensor row({{1, columns}, {}, dtype}, random_values(columns, -3, 3));
          const TensorSpec out{{partitions, columns}, {}, dtype};
          const std::vector<double> found =
              run_kernel(load_architecture(name), spread, {&row}, {out})[0].values();
          std::vector<double> expected;
          for (int64_t p = 0; p < partitions; ++p) {
            for (const double value : row.values()) expected.push_back(value);
          }
          EXPECT_EQ(found, expected) << name << ", " << columns << " x " << partitions;
        }
      }
    }
  }
}

TEST(RowSpreader, TakesTheDtypesOfProducts) {
  EXPECT_TRUE(RowSpreader::takes_dtype(Dtype::kFloat32));
  EXPECT_FALSE(RowSpreader::takes_dtype(Dtype::kInt32));
  EXPECT_FALSE(RowSpreader::takes_dtype(Dtype::kUint8));
}

}  // namespace
}  // namespace neuron_sim
