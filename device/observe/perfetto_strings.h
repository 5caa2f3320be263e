#pragma once
// Strings that a Perfetto trace says once, and the arguments of slices that consist of them.

#include <string>
#include <unordered_map>
#include <vector>

#include "device/observe/protobuf.h"
#include "device/observe/recording.h"

namespace neuron_sim {

/// Texts with numbers from 1.
class InternedTexts {
 public:
  uint64_t id_of(const std::string& text);
  /// Adds each text as field `field` of InternedData.
  void write(ProtobufMessage& data, int field) const;

 private:
  std::unordered_map<std::string, uint64_t> ids_;
  std::vector<std::string> texts_;
};

/// Names of events and their arguments, numbered before the first event is written.
class PerfettoStrings {
 public:
  explicit PerfettoStrings(const Recording& recording);

  uint64_t name_of(const StepEvent& event) const;
  uint64_t wait_name_of(uint32_t instruction) const { return wait_names_[instruction]; }
  uint64_t name_of(const LaunchPhase& phase);
  /// An integer argument of a slice.
  void annotate(ProtobufMessage& event, const char* name, int64_t value);
  /// Operands and line of an instruction, as fields of a TrackEvent.
  const std::string& arguments_of(uint32_t instruction) const { return arguments_[instruction]; }
  /// What the slice waits for, of an instance.
  void annotate_wait(ProtobufMessage& event, const RecordedWait& wait);
  /// InternedData of all texts asked for so far.
  ProtobufMessage interned() const;

 private:
  static size_t place_of(const StepEvent& event);
  void add_argument(ProtobufMessage& event, const std::string& name, const std::string& value);

  const Program& program_;
  InternedTexts names_, argument_names_, texts_;
  std::vector<uint64_t> event_names_;  // by place_of
  std::vector<uint64_t> wait_names_;   // by instruction
  std::vector<std::string> arguments_;
};

}  // namespace neuron_sim
