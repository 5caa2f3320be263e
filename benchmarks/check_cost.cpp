// The checker's cost in processor time: kernels run in turn without it and under it. Exits
// with 1 when a checked run takes more than 1.5 times as much.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "device/builder/builder.h"
#include "device/check/checked_run.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/matmul/matmul.h"

namespace {

using namespace neuron_sim;

constexpr int kRepetitions = 7;
constexpr double kLimit = 1.5;

double seconds_of(const std::function<void()>& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// 64 gathers of 128 rows of 512 elements, each scaled and stored: every address depends on data.
std::shared_ptr<const Program> gather(const Architecture& architecture) {
  Builder builder("gather", architecture);
  const View table = builder.argument("table", {4096, 512}, Dtype::kFloat32);
  const View indices = builder.argument("indices", {64, 128, 1}, Dtype::kInt32);
  const View out = builder.argument("out", {64, 128, 512}, Dtype::kFloat32);
  const View index = builder.sbuf("index", {128, 1}, Dtype::kInt32, 2);
  const View rows = builder.sbuf("rows", {128, 512}, Dtype::kFloat32, 2);
  builder.loop(64, [&](const Affine& i) {
    builder.emit(DmaCopy{index.turn(i), indices.select(0, i)});
    builder.emit(
        DmaCopy{.dst = rows.turn(i), .src = table.indirect(4096, 128), .index = index.turn(i)});
    builder.emit(TensorScalar{.dst = rows.turn(i), .data = rows.turn(i), .constant0 = 1});
    builder.emit(DmaCopy{out.select(0, i), rows.turn(i)});
  });
  return builder.finish();
}

bool measure(const char* label, const Program& program, size_t inputs) {
  const ExecutionPlan plan = make_plan(program);
  CoreMemory memory(*program.architecture);
  CoreMemory* const memories[] = {&memory};
  std::vector<std::vector<std::byte>> storage;
  std::vector<std::byte*> arguments;
  for (const Argument& argument : program.arguments) {
    storage.emplace_back(static_cast<size_t>(argument.bytes));
    arguments.push_back(storage.back().data());
  }
  std::vector<double> plain, checked;
  size_t found = 0;
  for (int repetition = 0; repetition <= kRepetitions; ++repetition) {
    plain.push_back(seconds_of([&] { execute(program, plan, memory, arguments, thread_pool()); }));
    checked.push_back(seconds_of([&] {
      std::vector<Finding> findings;
      checked_run(program, plan, {memories, arguments}, thread_pool(), {inputs, {}, false}, {},
                  findings);
      found += findings.size();
    }));
  }
  const auto median = [](std::vector<double> times) {
    std::sort(times.begin() + 1, times.end());  // the first one warms up
    return times[1 + kRepetitions / 2];
  };
  const double ratio = median(checked) / median(plain);
  std::printf("%s: %.1f ms, checked %.1f ms, ratio %.2f (gate: at most %.1f), findings: %zu\n",
              label, median(plain) * 1e3, median(checked) * 1e3, ratio, kLimit, found);
  return ratio <= kLimit && found == 0;
}

}  // namespace

int main() {
  const Architecture& trn2 = load_architecture("trn2");
  const TensorSpec input{{1, 256, 224, 224}, {}, Dtype::kFloat32};
  const TensorSpec weight{{256, 256, 3, 3}, {}, Dtype::kFloat32};
  const TensorSpec bias{{256}, {}, Dtype::kFloat32};
  const TensorSpec square{{1024, 1024}, {}, Dtype::kFloat32};
  const BuiltOp convolution = build_alone(kConv2dMaxpool, trn2, {input, weight, bias}, {});
  const BuiltOp product = build_alone(kMatmul, trn2, {square, square}, {});
  bool good = measure("convolution 256->256 3x3 224x224 float32", *convolution.program, 3);
  good = measure("matmul 1024 float32", *product.program, 2) && good;
  good = measure("gather of 64 x 128 rows of 512 float32", *gather(trn2), 2) && good;
  return good ? 0 : 1;
}
