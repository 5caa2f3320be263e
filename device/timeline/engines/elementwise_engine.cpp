#include "device/timeline/engines/elementwise_engine.h"

#include <algorithm>

namespace neuron_sim {

/// A table load waits for no data. The first one is at the start of the kernel, before instructions
/// that need no table (all four trn2 attention traces), when the engine was idle for that long;
/// every other one stands right after the previous instruction.
void ElementwiseEngine::load_table(int table) {
  const bool first = table_ < 0 && (idle_for_table_ || !began_);
  const Picoseconds start = first ? Picoseconds{} : next_issue();
  table_ = table;
  table_load_ = {start, start + timing_.table_load, start + timing_.table_load};
  pipeline_free_ = std::max(pipeline_free_, table_load_.end);
}

void ElementwiseEngine::begin(Picoseconds start) {
  if (!began_) idle_for_table_ = start >= timing_.table_load;
  began_ = true;
}

Span ElementwiseEngine::run(const Step& step, Picoseconds ready) {
  table_load_ = {};
  if (step.table >= 0 && step.table != table_) load_table(step.table);
  const Picoseconds start = std::max(next_issue(), ready);
  begin(start);
  double work = static_cast<double>(step.elements) * rates_[step.rate];
  if (step.strided) work *= timing_.stride_factor;
  double overhead = step.source_psum ? timing_.overhead_psum : timing_.overhead_sbuf;
  work += static_cast<double>(step.starts - 1) * overhead;
  Picoseconds latency = timing_.latency;
  if (step.source_psum) latency += timing_.psum_latency;
  if (!step.reduces) latency += timing_.write_latency;
  if (step.pointer_operand) {
    overhead += timing_.pointer_overhead;
    latency += timing_.pointer_latency;
  }
  if (step.table >= 0) {
    overhead += timing_.function_overhead;
    latency += timing_.function_latency;
    if (!step.source_psum) {
      overhead += timing_.function_overhead_sbuf;
      latency += timing_.function_latency_sbuf;
    }
  }
  if (step.reads_accumulator) work += timing_.accumulator_read;
  const double minimum =
      step.dynamic_address ? timing_.dynamic_minimum_cycles : timing_.minimum_cycles;
  const double busy = std::max(work + overhead, minimum);
  sequencer_free_ = start;
  pipeline_free_ = start + clock_.duration(busy);
  return {start, pipeline_free_, start + clock_.duration(work) + latency};
}

Span ElementwiseEngine::occupy(Picoseconds ready, Picoseconds duration) {
  pipeline_free_ = std::max(next_issue(), ready);
  return dispatch(pipeline_free_, duration);
}

Span ElementwiseEngine::dispatch(Picoseconds ready, Picoseconds duration) {
  const Picoseconds start = std::max(sequencer_free_, ready);
  begin(start);
  sequencer_free_ = start + duration;
  return {start, sequencer_free_, sequencer_free_};
}

void ElementwiseEngine::visit(StateVisitor& visitor) {
  visitor.time(pipeline_free_);
  visitor.time(sequencer_free_);
  visitor.other(began_ ? 1 : 0);
  visitor.other(idle_for_table_ ? 1 : 0);
  visitor.other(table_);
}

}  // namespace neuron_sim
