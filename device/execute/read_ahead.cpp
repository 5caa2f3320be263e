#include "device/execute/read_ahead.h"

#include <deque>

namespace neuron_sim {
namespace {

// Products between the one that brings an operand and the reader, at most: with more, the operand
// would leave the processor's caches before it is read.
constexpr size_t kProductsAhead = 4;

struct LaterRead {
  uint32_t location = 0;
  size_t products = 0;  // seen after it, towards the start of the program
};

bool same_place(const Location& a, const Location& b) {
  return a.tile == b.tile && a.offset == b.offset;
}

}  // namespace

void read_ahead(const Program& program, InstanceGraph& graph) {
  std::deque<LaterRead> reads;  // the soonest at the back
  for (size_t i = graph.replaced.empty() ? 0 : graph.instances.size(); i-- > 0;) {
    PlannedInstance& instance = graph.instances[i];
    const Instruction& instruction = program.instructions[instance.instruction];
    const bool is_product = program.demands[instruction.demand].multiply_accumulates > 0;
    if (is_product) {
      if (!reads.empty()) {
        instance.later = reads.back().location;
        reads.pop_back();
      }
      for (LaterRead& read : reads) ++read.products;
      while (!reads.empty() && reads.front().products >= kProductsAhead) reads.pop_front();
    }
    for (uint32_t k = 0; k < instruction.operand_count; ++k) {
      const uint32_t location = instance.first_location + k;
      if (graph.replaced[location] < 0) continue;
      const bool again = !reads.empty() && same_place(graph.locations[reads.back().location],
                                                      graph.locations[location]);
      if (!again) reads.push_back({location, 0});
    }
  }
}

}  // namespace neuron_sim
