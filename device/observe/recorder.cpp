#include "device/observe/recorder.h"

#include <algorithm>

namespace neuron_sim {
namespace {

bool is_multiply(const StepEvent& event) {
  return event.kind == EventKind::kStep && event.unit == Unit::kMultiplyMoving;
}

bool is_load(const StepEvent& event) {
  return event.kind == EventKind::kStep && event.unit == Unit::kLoadStationary;
}

/// Whether the event's `done` is what others wait for.
bool completes(const StepEvent& event) {
  return event.kind == EventKind::kTransfer || (event.kind == EventKind::kStep && !is_load(event));
}

/// The wait that was over last, if that was after the engine was ready.
uint32_t bound_of(const InstanceEvent& event) {
  uint32_t bound = kNoIndex;
  Picoseconds latest = event.ready;
  for (size_t i = 0; i < event.waits.size(); ++i) {
    if (event.waits[i].released <= latest) continue;
    latest = event.waits[i].released;
    bound = static_cast<uint32_t>(i);
  }
  return bound;
}

}  // namespace

void Recorder::instance(const Program&, const InstanceEvent& event) {
  CoreEvents& own = core(event.core);
  const auto first_wait = static_cast<uint32_t>(recording_.waits.size());
  for (const Awaited& awaited : event.waits) {
    const auto& completed = own.completed[awaited.producer];
    const auto found = completed.find(awaited.completion.count);
    recording_.waits.push_back({found == completed.end() ? kNoIndex : found->second, awaited});
  }
  const uint32_t bound = bound_of(event);
  own.instance = static_cast<uint32_t>(recording_.instances.size());
  own.previous = kNoIndex;
  own.semaphores = 0;
  recording_.instances.push_back({event.instruction, event.core, event.ready, event.start,
                                  bound == kNoIndex ? kNoIndex : first_wait + bound, first_wait,
                                  static_cast<uint32_t>(recording_.locations.size())});
  recording_.locations.insert(recording_.locations.end(), event.locations.begin(),
                              event.locations.end());
}

/// What the engine was at work on last at `start`.
Recorder::Candidate Recorder::engine_cause(const EngineEvents& engine, Picoseconds start) const {
  Candidate best;
  const auto consider = [&](uint32_t event) {
    const Span& span = step_of(event).span;
    const Picoseconds until = std::min(span.end, start);
    if (span.start > start || (best.event != kNoIndex && until < best.time)) return;
    best = {CauseKind::kEngine, event, until};
  };
  if (engine.longest != kNoIndex) consider(engine.longest);
  for (size_t i = 0; i < std::min(engine.count, EngineEvents::kKept); ++i) {
    consider(engine.recent[i]);
  }
  return best;
}

Recorder::Candidate Recorder::wait_cause(uint32_t instance) const {
  const uint32_t bound = recording_.instances[instance].bound;
  if (bound == kNoIndex) return {};
  const RecordedWait& wait = recording_.waits[bound];
  if (wait.event == kNoIndex) return {};
  return {CauseKind::kSemaphore, wait.event, wait.awaited.released};
}

Recorder::Candidate Recorder::cause_of(const StepEvent& event, const CoreEvents& core) const {
  if (event.kind == EventKind::kTransfer) return {CauseKind::kIssue, core.previous, {}};
  const EngineEvents& engine = core.engines[static_cast<size_t>(event.engine)];
  if (is_multiply(event) && core.previous != kNoIndex && is_load(step_of(core.previous))) {
    const Picoseconds loaded = step_of(core.previous).span.end;
    if (engine.multiply != kNoIndex && step_of(engine.multiply).span.end > loaded) {
      return {CauseKind::kEngine, engine.multiply, step_of(engine.multiply).span.end};
    }
    return {CauseKind::kIssue, core.previous, loaded};
  }
  const Candidate before = engine_cause(engine, event.span.start);
  if (event.kind == EventKind::kWait) {  // they wait for all but the first, the last one first
    const auto waits = recording_.waits_of(core.instance);
    const RecordedWait& wait = waits[waits.size() - 1 - core.semaphores];
    const bool waited = wait.event != kNoIndex && wait.awaited.released >= before.time;
    return waited ? Candidate{CauseKind::kSemaphore, wait.event, wait.awaited.released} : before;
  }
  if (event.kind == EventKind::kTableLoad || event.pair > 0) return before;  // waits for no data
  const Candidate waited = wait_cause(core.instance);
  const bool bound = waited.event != kNoIndex && waited.time >= before.time;
  return bound ? waited : before;
}

/// Makes an event one that later ones may name.
void Recorder::note(const StepEvent& event, uint32_t index, CoreEvents& core) {
  core.previous = index;
  if (event.kind == EventKind::kWait) {  // part of the instance's wait, not work of the engine
    ++core.semaphores;
    return;
  }
  const auto engine = static_cast<size_t>(event.engine);
  const bool transfer = event.kind == EventKind::kTransfer;
  if (completes(event)) {
    const Slot slot = transfer ? queue_of(event.engine) : slot_of(event.engine);
    core.completed[slot][event.span.done.count] = index;
  }
  if (transfer) {
    before_transfer_ = core.transfers[engine];
    core.transfers[engine] = index;
    return;
  }
  EngineEvents& events = core.engines[engine];
  events.recent[events.count++ % EngineEvents::kKept] = index;
  if (is_multiply(event)) events.multiply = index;
  if (events.longest == kNoIndex || event.span.end >= step_of(events.longest).span.end) {
    events.longest = index;
  }
}

void Recorder::step(const Program&, const StepEvent& event) {
  CoreEvents& own = core(event.core);
  const Candidate cause = cause_of(event, own);
  const auto index = static_cast<uint32_t>(recording_.events.size());
  recording_.events.push_back({event, own.instance, cause.event, cause.kind});
  note(event, index, own);
}

void Recorder::shares(const Program&, std::span<const DmaShare> shares) {
  const auto index = static_cast<uint32_t>(recording_.events.size() - 1);
  const DmaShare* last = nullptr;
  for (const DmaShare& share : shares) {
    recording_.shares.push_back({index, share});
    if (last == nullptr || share.end > last->end) last = &share;
  }
  if (last == nullptr || !last->queued || before_transfer_ == kNoIndex) return;
  recording_.events[index].cause = before_transfer_;
  recording_.events[index].cause_kind = CauseKind::kQueue;
}

void Recorder::finish() {
  const Program& program = *recording_.program;
  std::vector<Span> spans(recording_.instances.size(), {Picoseconds{INT64_MAX}, {}, {}});
  for (const RecordedEvent& event : recording_.events) {
    if (event.step.kind != EventKind::kStep && event.step.kind != EventKind::kTransfer) continue;
    Span& span = spans[event.instance];
    span.start = std::min(span.start, event.step.span.start);
    span.done = std::max(span.done, event.step.span.done);
  }
  TileLives lives(program);
  for (size_t i = 0; i < recording_.instances.size(); ++i) {
    const auto operands =
        program.operands_of(program.instructions[recording_.instances[i].instruction]);
    const auto locations = recording_.locations_of(i);
    for (size_t operand = 0; operand < operands.size(); ++operand) {
      if (!operands[operand].present()) continue;
      lives.touch(locations[operand].tile, operands[operand].writes(), spans[i].start,
                  spans[i].done);
    }
  }
  recording_.lives = lives.finish();
}

}  // namespace neuron_sim
