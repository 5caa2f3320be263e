#include "device/observe/perfetto_strings.h"

#include "device/base/errors.h"
#include "device/observe/event_text.h"
#include "device/observe/perfetto_fields.h"

namespace neuron_sim {
namespace {

/// Kinds of events of an instruction, with its loads of weights apart.
constexpr size_t kKinds = 7;

}  // namespace

uint64_t InternedTexts::id_of(const std::string& text) {
  const auto [found, added] = ids_.try_emplace(text, texts_.size() + 1);
  if (added) texts_.push_back(text);
  return found->second;
}

void InternedTexts::write(ProtobufMessage& data, int field) const {
  for (size_t i = 0; i < texts_.size(); ++i) {
    ProtobufMessage entry;
    entry.integer(perfetto::interned::kId, i + 1);
    entry.string(perfetto::interned::kText, texts_[i]);
    data.message(field, entry);
  }
}

size_t PerfettoStrings::place_of(const StepEvent& event) {
  const bool load = event.kind == EventKind::kStep && event.unit == Unit::kLoadStationary;
  return event.instruction * kKinds + (load ? kKinds - 1 : static_cast<size_t>(event.kind));
}

PerfettoStrings::PerfettoStrings(const Recording& recording)
    : program_(*recording.program), event_names_(program_.instructions.size() * kKinds) {
  for (const RecordedEvent& event : recording.events) {
    uint64_t& id = event_names_[place_of(event.step)];
    if (id == 0) id = names_.id_of(event_name(program_, event.step));
  }
  for (const Instruction& instruction : program_.instructions) {
    wait_names_.push_back(names_.id_of(text(instruction.type->name, " waits")));
    ProtobufMessage arguments;
    const auto operands = program_.operands_of(instruction);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present()) continue;
      add_argument(arguments, std::string(instruction.type->operands[i].name),
                   operand_text(program_, operands[i]));
    }
    const std::string source = source_of(program_, instruction);
    if (!source.empty()) add_argument(arguments, "source", source);
    arguments_.push_back(arguments.bytes());
  }
}

uint64_t PerfettoStrings::name_of(const StepEvent& event) const {
  return event_names_[place_of(event)];
}

uint64_t PerfettoStrings::name_of(const LaunchPhase& phase) { return names_.id_of(phase.name); }

void PerfettoStrings::add_argument(ProtobufMessage& event, const std::string& name,
                                   const std::string& value) {
  ProtobufMessage argument;
  argument.integer(perfetto::annotation::kNameId, argument_names_.id_of(name));
  argument.integer(perfetto::annotation::kStringId, texts_.id_of(value));
  event.message(perfetto::event::kAnnotations, argument);
}

void PerfettoStrings::annotate(ProtobufMessage& event, const char* name, int64_t value) {
  ProtobufMessage argument;
  argument.integer(perfetto::annotation::kNameId, argument_names_.id_of(name));
  argument.integer(perfetto::annotation::kInteger, static_cast<uint64_t>(value));
  event.message(perfetto::event::kAnnotations, argument);
}

void PerfettoStrings::annotate_wait(ProtobufMessage& event, const RecordedWait& wait) {
  add_argument(event, "for", slot_name(wait.awaited.producer));
  annotate(event, "completed_ps", wait.awaited.completion.count);
}

ProtobufMessage PerfettoStrings::interned() const {
  ProtobufMessage data;
  names_.write(data, perfetto::interned::kEventNames);
  argument_names_.write(data, perfetto::interned::kAnnotationNames);
  texts_.write(data, perfetto::interned::kStrings);
  return data;
}

}  // namespace neuron_sim
