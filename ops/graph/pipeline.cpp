#include "ops/graph/pipeline.h"

#include <algorithm>
#include <cstdio>

#include "device/base/errors.h"
#include "device/compiler/dump.h"
#include "device/compiler/middle_end/forward_stores.h"
#include "device/compiler/verify.h"
#include "ops/graph/cast_in_products.h"
#include "ops/graph/drop_copies.h"
#include "ops/graph/follow_products.h"
#include "ops/graph/fuse_pointwise.h"
#include "ops/graph/fuse_products.h"
#include "ops/graph/fuse_rows.h"
#include "ops/graph/gate_products.h"
#include "ops/graph/pool_products.h"
#include "ops/graph/round_at_source.h"
#include "ops/graph/share_results.h"
#include "ops/graph/slice_batch.h"
#include "ops/graph/turn_results.h"
#include "ops/graph/verify.h"

namespace neuron_sim {
namespace {

/// Slices pay where results stay in SBUF for the kernels after them.
void run_slice_batch(Graph& graph) {
  const Limits& limits = graph.architecture.limits;
  const int64_t room = limits.sbuf_usable.count / kForwardingParts * limits.partitions;
  // What the DMA engines move while one more transfer starts and completes.
  const DmaTiming& dma = graph.architecture.dma;
  const double start = (dma.static_first_load + dma.complete_load).nanoseconds();
  const double bytes = start * dma.bytes_per_nanosecond * static_cast<double>(dma.engines);
  run_in_slices(graph,
                slice_batch(graph.kernels, graph.is_external, room, static_cast<int64_t>(bytes)));
}

/// Gates that the compiler's passes would keep anyway stay apart.
void run_gate_products(Graph& graph) {
  gate_products(graph, graph.architecture.limits.sbuf_usable.count / kForwardingParts);
}

bool same_tensors(const GraphKernel& a, const GraphKernel& b) {
  return a.operands == b.operands && a.results == b.results;
}

constexpr GraphNeeds kFusion{.fusion = true};
constexpr GraphStage kFusions = GraphStage::kFusions;
// name, stage, what it needs, what it keeps, how it runs
constexpr GraphPass kPipeline[] = {
    {"cast_in_products", GraphStage::kConstants, kFusion, {}, cast_in_products},
    {"drop_unread_results", kFusions, {}, {.kernels = true}, drop_unread_results},
    {"fuse_pointwise", kFusions, kFusion, {}, fuse_pointwise},
    {"round_at_source", kFusions, kFusion, {}, round_at_source},
    {"fuse_rows", kFusions, kFusion, {}, fuse_rows},
    {"fuse_products", kFusions, kFusion, {}, fuse_products},
    {"follow_products", kFusions, kFusion, {}, follow_products},
    {"pool_products", kFusions, kFusion, {}, pool_products},
    {"round_pooled_results", kFusions, kFusion, {}, round_at_source},
    {"share_results", GraphStage::kOrder, kFusion, {}, share_results},
    {"drop_copies", GraphStage::kOrder, kFusion, {}, drop_copies},
    {"slice_batch", GraphStage::kOrder, {.forwarding = true}, {}, run_slice_batch},
    {"turn_results", GraphStage::kOrder, kFusion, {.kernels = true}, turn_results},
    {"gate_products", GraphStage::kOrder, kFusion, {}, run_gate_products},
};

}  // namespace

std::span<const GraphPass> graph_pipeline() { return kPipeline; }

void run_graph_pass(const GraphPass& pass, Graph& graph) {
  const std::vector<GraphKernel> before =
      verifies_passes() ? graph.kernels : std::vector<GraphKernel>();
  pass.run(graph);
  if (verifies_passes()) verify_graph(pass, before, graph);
  if (is_dumped(kGraphDumps, pass.name)) std::fputs(listing(graph, pass.name).c_str(), stderr);
}

std::vector<std::string> run_graph_stage(GraphStage stage, Graph& graph,
                                         const GraphProgramOptions& options,
                                         const std::set<std::string>& left_out) {
  if (dump_request().starts_with(kGraphDumps)) {
    check_dump_of(dump_request(), kGraphDumps, graph_pipeline());
  }
  std::vector<std::string> changed;
  for (const GraphPass& pass : kPipeline) {
    const bool runs = (!pass.needs.fusion || options.fuse) &&
                      (!pass.needs.forwarding || options.passes["forward_stores"] != 0);
    if (pass.stage != stage || !runs || left_out.contains(pass.name)) continue;
    const std::vector<GraphKernel> before = graph.kernels;
    run_graph_pass(pass, graph);
    if (!std::equal(before.begin(), before.end(), graph.kernels.begin(), graph.kernels.end(),
                    same_tensors)) {
      changed.emplace_back(pass.name);
    }
  }
  return changed;
}

void check_orders(const std::set<std::string>& passes) {
  for (const std::string& name : passes) {
    const bool is_order = std::ranges::any_of(kPipeline, [&](const GraphPass& pass) {
      return pass.stage == GraphStage::kOrder && pass.name == name;
    });
    if (!is_order) fail(text("pass '", name, "' to leave out does not order a graph's kernels."));
  }
}

}  // namespace neuron_sim
