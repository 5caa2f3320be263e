#pragma once

#include <array>

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[32 q + i] = src[32 q + shuffle_mask[i]] in every quadrant q of 32 partitions, on Vector; a
/// mask element is 0 to 31, or 255, which leaves dst[32 q + i] unchanged. [P, F] tiles in SBUF or
/// PSUM of one dtype, whose bits are copied, with equal elements per partition; their partitions
/// may differ, but no element in use may point beyond those of src. dst may be src.
/// Start partitions follow the active partitions, the larger count rounded up to 32: 96 and 128
/// start at 0, 64 at 0 or 64, 32 at a multiple of 32 (docs/hardware_facts.md#nc_stream_shuffle).
struct NcStreamShuffle {
  View dst, src;
  std::array<int64_t, 32> shuffle_mask{};
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  static constexpr AttributeField kMaskFields[] = {
      {"mask_0", AttributeKind::kInteger},  {"mask_1", AttributeKind::kInteger},
      {"mask_2", AttributeKind::kInteger},  {"mask_3", AttributeKind::kInteger},
      {"mask_4", AttributeKind::kInteger},  {"mask_5", AttributeKind::kInteger},
      {"mask_6", AttributeKind::kInteger},  {"mask_7", AttributeKind::kInteger},
      {"mask_8", AttributeKind::kInteger},  {"mask_9", AttributeKind::kInteger},
      {"mask_10", AttributeKind::kInteger}, {"mask_11", AttributeKind::kInteger},
      {"mask_12", AttributeKind::kInteger}, {"mask_13", AttributeKind::kInteger},
      {"mask_14", AttributeKind::kInteger}, {"mask_15", AttributeKind::kInteger},
      {"mask_16", AttributeKind::kInteger}, {"mask_17", AttributeKind::kInteger},
      {"mask_18", AttributeKind::kInteger}, {"mask_19", AttributeKind::kInteger},
      {"mask_20", AttributeKind::kInteger}, {"mask_21", AttributeKind::kInteger},
      {"mask_22", AttributeKind::kInteger}, {"mask_23", AttributeKind::kInteger},
      {"mask_24", AttributeKind::kInteger}, {"mask_25", AttributeKind::kInteger},
      {"mask_26", AttributeKind::kInteger}, {"mask_27", AttributeKind::kInteger},
      {"mask_28", AttributeKind::kInteger}, {"mask_29", AttributeKind::kInteger},
      {"mask_30", AttributeKind::kInteger}, {"mask_31", AttributeKind::kInteger}};
  enum OperandIndex { kDst, kSrc };
  enum AttributeIndex { kKeeps, kMask };
  static constexpr auto fields() {
    using T = NcStreamShuffle;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst, kKeeps)
                          .undefined_elements(UndefinedUse::kKept),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      parameter("shuffle_mask", &T::shuffle_mask).required(),
                      engine_of(&T::engine),
                      hidden_attribute<kKeeps>("keeps", AttributeKind::kFlag),
                      HiddenAttributes{kMask, kMaskFields}};
  }
  Draft draft() const;
};
extern const InstructionType kNcStreamShuffle;

}  // namespace neuron_sim
