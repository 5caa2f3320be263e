#include "device/execute/read_ahead.h"

#include <deque>

namespace neuron_sim {
namespace {

// Products between the one that brings an operand and the reader, at most: with more, the operand
// would leave the processor's L2 cache before it is read.
constexpr size_t kProductsAhead = 8;

struct LaterRead {
  uint32_t location = 0;
  size_t products = 0;  // seen after it, towards the start of the program
};

class Assignment {
 public:
  Assignment(const Program& program, InstanceGraph& graph) : program_(program), graph_(graph) {}

  void run() {
    for (size_t i = graph_.instances.size(); i-- > 0;) {
      PlannedInstance& instance = graph_.instances[i];
      const Instruction& instruction = program_.instructions[instance.instruction];
      if (!is_product(program_, instruction)) continue;
      give_product(instance);
      for (uint32_t k = 0; k < instruction.operand_count; ++k) {
        const uint32_t location = instance.first_location + k;
        if (graph_.replaced[location] >= 0) note(location);
      }
    }
  }

 private:
  void give_product(PlannedInstance& product) {
    if (!reads_.empty()) {
      product.later = reads_.back().location;
      reads_.pop_back();
    }
    for (LaterRead& read : reads_) ++read.products;
    while (!reads_.empty() && reads_.front().products >= kProductsAhead) reads_.pop_front();
  }

  void note(uint32_t location) {
    if (!reads_.empty() && is_same(reads_.back().location, location)) return;
    reads_.push_back({location, 0});
  }

  bool is_same(uint32_t a, uint32_t b) const {
    const Location &first = graph_.locations[a], &second = graph_.locations[b];
    return first.tile == second.tile && first.offset == second.offset;
  }

  const Program& program_;
  InstanceGraph& graph_;
  std::deque<LaterRead> reads_;  // the soonest at the back
};

}  // namespace

void read_ahead(const Program& program, InstanceGraph& graph) {
  if (!graph.replaced.empty()) Assignment(program, graph).run();
}

}  // namespace neuron_sim
