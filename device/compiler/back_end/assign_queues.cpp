#include "device/compiler/back_end/assign_queues.h"

#include <optional>

#include "device/compiler/line/instance_checks.h"
#include "device/isa/dma/dma_transfer.h"

namespace neuron_sim {
namespace {

/// Where a transfer is triggered.
struct Queue {
  EngineKind engine{};
  DescriptorKind descriptors{};
};

constexpr Queue kSoftware{EngineKind::kGpSimd, DescriptorKind::kSoftware};
constexpr Queue kHardwareLoad{EngineKind::kSync, DescriptorKind::kHardware};
constexpr Queue kHardwareStore{EngineKind::kScalar, DescriptorKind::kHardware};
constexpr Queue kStaticLoad{EngineKind::kSync, DescriptorKind::kStatic};
constexpr Queue kStaticStore{EngineKind::kGpSimd, DescriptorKind::kStatic};

class Assignment {
 public:
  Assignment(StraightLine& line, const PassSettings& settings)
      : line_(line),
        static_(settings["disable_dge"] != 0 || !line.architecture->features.hardware_descriptors) {
  }

  void run() {
    for (StraightInstruction& instance : line_.instructions) {
      if (!is_transfer(line_, instance)) continue;
      const int descriptors = attribute_index(*instance.instruction.type, "descriptors");
      if (descriptors < 0 || is_chosen(instance, static_cast<size_t>(descriptors))) continue;
      const std::optional<Queue> queue = queue_for(instance);
      if (queue) move(instance, static_cast<size_t>(descriptors), *queue);
    }
  }

 private:
  bool is_chosen(const StraightInstruction& instance, size_t descriptors) const {
    if (instance.instruction.engine_given) return true;
    return line_.attributes_of(instance)[descriptors].integer() != kDmaAutomatic;
  }

  /// The tensor in HBM that a transfer reads or, if it reads none, writes.
  const Tile* tensor_of(const StraightInstruction& instance, bool& stores) const {
    const Tile* tensor = nullptr;
    for (const StraightOperand& operand : line_.operands_of(instance)) {
      if (operand.memory != MemoryKind::kHbm) continue;
      if (tensor != nullptr && operand.writes()) continue;
      tensor = &line_.tile_of(operand);
      stores = operand.writes();
    }
    return tensor;
  }

  std::optional<Queue> queue_for(const StraightInstruction& instance) const {
    bool stores = false;
    const Tile* tensor = tensor_of(instance, stores);
    if (tensor == nullptr) return std::nullopt;
    if (static_) return stores ? kStaticStore : kStaticLoad;
    if (tensor->argument >= 0) return kSoftware;
    return stores ? kHardwareStore : kHardwareLoad;
  }

  void move(StraightInstruction& instance, size_t descriptors, const Queue& queue) {
    const StraightInstruction before = instance;
    instance.instruction.engine = queue.engine;
    own_attribute(line_, instance, descriptors) = Attribute::of(queue.descriptors);
    if (!checks_.renew_demand(line_, instance)) instance = before;
  }

  StraightLine& line_;
  bool static_;
  InstanceChecks checks_;
};

}  // namespace

void assign_queues(StraightLine& line, const PassSettings& settings) {
  Assignment(line, settings).run();
}

}  // namespace neuron_sim
