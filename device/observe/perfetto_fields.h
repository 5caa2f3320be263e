#pragma once
// Numbers of the fields of perfetto.protos that write_perfetto uses
// (protos/perfetto/trace/perfetto_trace.proto).

namespace neuron_sim::perfetto {

inline constexpr int kTracePacket = 1;

namespace packet {
inline constexpr int kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                     kSequenceFlags = 13, kTrackDescriptor = 60;
inline constexpr int kStateCleared = 1, kNeedsState = 2;  // values of kSequenceFlags
}  // namespace packet

namespace descriptor {
inline constexpr int kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8,
                     kChildOrdering = 11, kRank = 12;
inline constexpr int kProcessId = 1, kProcessName = 6, kUnitName = 6;
inline constexpr int kExplicit = 3;  // value of kChildOrdering
}  // namespace descriptor

namespace event {
inline constexpr int kAnnotations = 4, kType = 9, kNameId = 10, kTrack = 11, kFlows = 47,
                     kEndingFlows = 48, kDoubleValue = 44;
inline constexpr int kBegin = 1, kEnd = 2, kCounter = 4;  // values of kType
}  // namespace event

namespace annotation {
inline constexpr int kNameId = 1, kInteger = 4, kStringId = 17;
}  // namespace annotation

namespace interned {
inline constexpr int kEventNames = 2, kAnnotationNames = 3, kStrings = 29;
inline constexpr int kId = 1, kText = 2;
}  // namespace interned

}  // namespace neuron_sim::perfetto
