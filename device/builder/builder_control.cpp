// Builder: loops, scopes and source lines.

#include "device/analysis/register_write.h"
#include "device/base/errors.h"
#include "device/builder/builder.h"

namespace neuron_sim {

void Builder::push_frame(Frame::Kind kind, int64_t trips, bool counted) {
  frames_.push_back({kind, allocated_.size(), counted, trips, source_line_});
}

void Builder::pop_frame() {
  const Frame frame = frames_.back();
  frames_.pop_back();
  if (frame.kind == Frame::Kind::kCore) {  // its tiles live on
    core_ = 0;
    in_core_ = false;
    return;
  }
  while (allocated_.size() > frame.allocated) {
    allocated_.back().first->release(allocated_.back().second);
    allocated_.pop_back();
  }
  if (frame.counted) open_loops_.pop_back();
}

std::string Builder::describe(const Frame& frame) const {
  std::string result;
  switch (frame.kind) {
    case Frame::Kind::kScope: result = "a scope"; break;
    case Frame::Kind::kCore: result = text("core(", core_, ")"); break;
    case Frame::Kind::kLoop:
      result = frame.trips == kUnbounded ? std::string("a loop on a register")
                                         : text("a loop of ", frame.trips, " iterations");
      break;
  }
  if (frame.source_line < 0) return result;
  return result + " opened at " + program_->source_lines[static_cast<size_t>(frame.source_line)];
}

void Builder::close(Frame::Kind kind) {
  const char* names[] = {"close_scope()", "close_loop()", "close_core()"};
  if (frames_.empty() || frames_.back().kind != kind) {
    fail(text("kernel '", program_->kernel, "': ", names[static_cast<size_t>(kind)],
              frames_.empty() ? " where nothing is open."
                              : " inside " + describe(frames_.back()) + "."));
  }
  pop_frame();
}

void Builder::run_body(Frame::Kind kind, const std::function<void()>& body) {
  const size_t depth = frames_.size();
  try {
    body();
    close(kind);
  } catch (...) {
    while (frames_.size() >= depth) pop_frame();  // what was emitted stays
    throw;
  }
}

void Builder::open_scope() { push_frame(Frame::Kind::kScope, 1, false); }

void Builder::close_scope() { close(Frame::Kind::kScope); }

void Builder::scope(const std::function<void()>& body) {
  open_scope();
  run_body(Frame::Kind::kScope, body);
}

Affine Builder::push_loop(Loop loop) {
  loop.level = static_cast<int32_t>(open_loops_.size());
  loop.core = static_cast<uint8_t>(core_);
  if (loop.level >= kMaximumLoopDepth) {
    fail(
        text("loops of kernel '", program_->kernel, "' nest deeper than ", kMaximumLoopDepth, "."));
  }
  const auto index = static_cast<uint32_t>(program_->loops.size());
  parent_of_.push_back(open_loops_.empty() ? -1 : static_cast<int32_t>(open_loops_.back().loop));
  loop.source_line = source_line_;
  block().push_back({Node::Kind::kLoop, index});
  push_frame(Frame::Kind::kLoop, loop.bound, true);
  open_loops_.push_back({index, loop.bound});
  program_->loops.push_back(std::move(loop));
  return Affine::variable(static_cast<int>(open_loops_.size()) - 1);
}

Affine Builder::open_loop(int64_t trip_count) {
  if (trip_count < 0) fail(text("loop with a negative trip count of ", trip_count, "."));
  if (trip_count == 0) fail("loop with a trip count of 0 has no body to emit.");
  if (trip_count == 1) {
    push_frame(Frame::Kind::kLoop, 1, false);
    return 0;
  }
  Loop loop;
  loop.trip_count = loop.bound = trip_count;
  return push_loop(std::move(loop));
}

void Builder::close_loop() {
  if (!frames_.empty() && frames_.back().counted) {
    Loop& loop = program_->loops[open_loops_.back().loop];
    loop.changes_condition =
        loop.kind != LoopKind::kWhile || writes_register(*program_, loop.body, loop.register_index);
  }
  close(Frame::Kind::kLoop);
}

void Builder::check_register(const char* what, int64_t register_index) const {
  if (register_index >= 0 && register_index < limits().registers) return;
  fail(text(what, " of kernel '", program_->kernel, "': register ", register_index,
            " does not exist; the sequencers of ", architecture_.name, " have ", limits().registers,
            " registers."),
       ErrorKind::kIndex);
}

void Builder::open_range(int register_index, const RegisterValue& start, const RegisterValue& stop,
                         int64_t step) {
  check_register("range loop", register_index);
  if (step <= 0) fail(text("range loop with a step of ", step, "; it counts up."));
  for (const RegisterValue& value : {start, stop}) {
    if (value.register_index != -1) check_register("range loop", value.register_index);
  }
  Loop loop;
  loop.kind = LoopKind::kRange;
  loop.register_index = static_cast<int16_t>(register_index);
  loop.start = start;
  loop.stop = stop;
  loop.step = step;
  loop.bound = kUnbounded;
  push_loop(std::move(loop));
  program_->uses_registers = true;
}

void Builder::open_while(int register_index) {
  check_register("while loop", register_index);
  Loop loop;
  loop.kind = LoopKind::kWhile;
  loop.register_index = static_cast<int16_t>(register_index);
  loop.bound = kUnbounded;
  push_loop(std::move(loop));
  program_->uses_registers = true;
}

void Builder::loop(int64_t trip_count, const std::function<void(Affine)>& body) {
  if (trip_count == 0) return;
  const Affine variable = open_loop(trip_count);
  run_body(Frame::Kind::kLoop, [&] { body(variable); });
}

Affine Builder::open_loop_register(EngineKind engine, int register_index, int64_t bound) {
  if (bound < 0) fail(text("register loop with a negative bound of ", bound, "."));
  if (engine == EngineKind::kAuto || register_index < 0 || register_index >= limits().registers) {
    fail(text("register loop of kernel '", program_->kernel, "': register ", register_index,
              " of engine ", name(engine), " does not exist; the sequencers of ",
              architecture_.name, " have ", limits().registers, " registers."),
         ErrorKind::kIndex);
  }
  Loop loop;
  loop.engine = engine;
  loop.register_index = static_cast<int16_t>(register_index);
  loop.bound = bound;
  const Affine variable = push_loop(std::move(loop));
  program_->uses_registers = true;
  return variable;
}

void Builder::loop_register(EngineKind engine, int register_index, int64_t bound,
                            const std::function<void(Affine)>& body) {
  const Affine variable = open_loop_register(engine, register_index, bound);
  run_body(Frame::Kind::kLoop, [&] { body(variable); });
}

Builder::Bounds Builder::bounds(const Affine& index) const {
  if (index.levels() > static_cast<int>(open_loops_.size())) {
    fail(text("an index of kernel '", program_->kernel,
              "' uses the variable of a loop that is closed."),
         ErrorKind::kIndex);
  }
  return {smallest(index), largest(index)};
}

void Builder::set_source_line(const std::string& line) {
  if (line.empty()) {
    source_line_ = -1;
    return;
  }
  const auto next = static_cast<int32_t>(program_->source_lines.size());
  const auto [found, is_new] = source_lines_.try_emplace(line, next);
  if (is_new) program_->source_lines.push_back(line);
  source_line_ = found->second;
}

}  // namespace neuron_sim
