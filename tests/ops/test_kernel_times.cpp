// Simulated times of the kernels, against those on record. Other tests say what a kernel computes;
// a ring of one tile less, or a panel of half the size, changes nothing but these figures.
//
// When a change of a kernel or of the timeline is meant to change times, write the record anew and
// read its difference: NEURON_SIM_RECORD_TIMES=1 core_tests --gtest_filter='KernelTimes.*'.

#include <cstdlib>
#include <fstream>

#include "device/timeline/timeline.h"
#include "tests/ops/run_op.h"
#include "tests/ops/timed_kernels.h"

namespace neuron_sim {
namespace {

// NEURON_SIM_KERNEL_TIMES: the record, a file of the source tree.
std::string header() {
  std::string columns = "architecture\tpicoseconds\tdma_busy";
  for (int engine = 0; engine < kEngineCount; ++engine) {
    columns += text("\t", name(static_cast<EngineKind>(engine)));
  }
  return columns +
         "\tinstructions\tinstances\tskipped\tmultiply_accumulates\tdma_transfers\tdma_bytes\tsbuf_"
         "peak"
         "\tpsum_peak\tkernel";
}

/// The row of a kernel; that of one that is refused has its error.
std::string row_of(const TimedKernel& kernel) {
  std::string row = kernel.architecture;
  try {
    const BuiltOp built = kernel.build();
    const Timing timing = simulate(*built.program);
    row += text("\t", timing.body.count, "\t", timing.dma_busy.count);
    for (const Picoseconds busy : timing.busy) row += text("\t", busy.count);
    row += text("\t", built.program->instructions.size(), "\t", timing.instances, "\t",
                timing.skipped_instances, "\t", timing.multiply_accumulates, "\t",
                timing.dma_transfers, "\t", timing.dma_bytes, "\t", built.program->sbuf_peak, "\t",
                built.program->psum_peak);
  } catch (const KernelError& error) {
    row += text("\t", error.what());
  }
  return row + "\t" + kernel.name;
}

std::vector<std::string> lines_of(std::istream& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(KernelTimes, AreThoseOnRecord) {
  std::vector<std::string> rows{header()};
  for (const TimedKernel& kernel : timed_kernels()) rows.push_back(row_of(kernel));
  if (std::getenv("NEURON_SIM_RECORD_TIMES") != nullptr) {
    std::ofstream record(NEURON_SIM_KERNEL_TIMES);
    for (const std::string& row : rows) record << row << "\n";
    ASSERT_TRUE(record.good());
    return;
  }
  std::ifstream record(NEURON_SIM_KERNEL_TIMES);
  const std::vector<std::string> expected = lines_of(record);
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], expected[i]) << header();
}

}  // namespace
}  // namespace neuron_sim
