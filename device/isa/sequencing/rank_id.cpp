#include "device/isa/sequencing/rank_id.h"

#include "device/base/errors.h"
#include "device/isa/sequencing/sequencer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "rank_id";
constexpr std::string_view kProcessingName =
    "collective_permute_implicit_current_processing_rank_id";
enum RankAttribute { kDst };
enum ProcessingAttribute { kGroups, kProcessingDst, kIteration, kChannel };
constexpr AttributeField kRankAttributes[] = {{"dst", AttributeKind::kInteger}};
constexpr AttributeField kProcessingAttributes[] = {
    {"replica_group", AttributeKind::kReplicaGroups},
    {"dst", AttributeKind::kInteger},
    {"iteration_id", AttributeKind::kInteger},
    {"channel_id", AttributeKind::kInteger}};

void check_rank(const Draft& draft, const Architecture& architecture) {
  check_register(kName, draft.engine, draft.attribute(kDst).integer(), architecture);
}

void run_rank(const Instance& instance) {
  write_register(instance, instance.attribute(kDst).integer(), instance.rank);
}

void check_processing(const Draft& draft, const Architecture& architecture) {
  require(draft.groups != nullptr, "a ring has replica groups");
  check_register(kProcessingName, draft.engine, draft.attribute(kProcessingDst).integer(),
                 architecture);
  check_replica_groups(kProcessingName, *draft.groups);
  for (const ProcessingAttribute attribute : {kIteration, kChannel}) {
    const int64_t value = draft.attribute(attribute).integer();
    if (value >= 0) continue;
    fail(text("'", kProcessingName, "': ", kProcessingAttributes[attribute].name, " ", value,
              " is negative."));
  }
}

void run_processing(const Instance& instance) {
  const auto place = instance.groups->find(instance.rank);
  int64_t source = 0;
  if (place) {
    const int64_t back = instance.attribute(kIteration).integer() % place->size();
    source = (place->position - back + place->size()) % place->size();
  }
  write_register(instance, instance.attribute(kProcessingDst).integer(), source);
}

}  // namespace

Draft RankId::draft() const { return make_draft(kRankId, engine, {}, {Attribute::of(dst)}); }

Draft ProcessingRankId::draft() const {
  Draft draft = make_draft(kProcessingRankId, engine, {},
                           {Attribute::of(int64_t{0}), Attribute::of(dst), Attribute::of(iteration),
                            Attribute::of(channel)});
  draft.groups = groups;
  return draft;
}

const InstructionType kRankId = {kName,      {},       kRankAttributes, sequencer_engine,
                                 check_rank, run_rank, sequencer_demand};
const InstructionType kProcessingRankId = {
    kProcessingName, {}, kProcessingAttributes, sequencer_engine, check_processing, run_processing,
    sequencer_demand};

}  // namespace neuron_sim
