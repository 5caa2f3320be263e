#include "device/isa/movement/nc_stream_shuffle.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_stream_shuffle";
constexpr int64_t kQuadrant = 32;
constexpr int64_t kUnchanged = 255;

using enum NcStreamShuffle::OperandIndex;
using enum NcStreamShuffle::AttributeIndex;
constexpr auto kOperands = operand_table<NcStreamShuffle>();
/// "keeps": some partition of dst is unchanged.
constexpr auto kAttributes = attribute_table<NcStreamShuffle>();

/// The partition of src that partition `target` of dst takes, or kUnchanged.
template <typename Owner>  // Draft or Instance
int64_t source_partition(const Owner& owner, int64_t target) {
  const int64_t element = owner.attribute(kMask + static_cast<int>(target % kQuadrant)).integer();
  return element == kUnchanged ? kUnchanged : target / kQuadrant * kQuadrant + element;
}

void check_start(std::string_view operand, const View& view, int64_t active,
                 const Architecture& architecture) {
  if (!view.partition().is_constant()) return;
  const int64_t start = view.partition().constant();
  const int64_t multiple = active == 2 * kQuadrant || active == kQuadrant ? active : 4 * kQuadrant;
  if (start % multiple == 0) return;
  fail(text("start partition ", start, " of operand '", operand, "' of '", kName,
            "' must be a multiple of ", multiple, " for ", active,
            " active partitions (architecture ", architecture.name, ")."));
}

void check_mask(const Draft& draft) {
  const View& src = draft.operand(kSrc);
  for (int i = 0; i < kQuadrant; ++i) {
    const int64_t element = draft.attribute(kMask + i).integer();
    if ((element >= 0 && element < kQuadrant) || element == kUnchanged) continue;
    fail(text("shuffle_mask[", i, "] of '", kName, "' is ", element,
              ", but must be 0 to 31, or 255 to leave the partition unchanged."));
  }
  for (int64_t target = 0; target < draft.operand(kDst).partitions(); ++target) {
    const int64_t source = source_partition(draft, target);
    if (source == kUnchanged || source < src.partitions()) continue;
    fail(text("shuffle_mask[", target % kQuadrant, "] of '", kName, "' takes partition ", source,
              " of operand 'src' (", src.describe(), "), which has ", src.partitions(), "."),
         ErrorKind::kIndex);
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  checks::compute_operand(kName, "src", src, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_free_elements(kName, "dst", dst, "src", src);
  if (dst.dtype() != src.dtype()) {
    checks::dtype_error(kName, "dst", dst, text(name(src.dtype()), ", the dtype of src"));
  }
  const int64_t larger = std::max(src.partitions(), dst.partitions());
  const int64_t active = (larger + kQuadrant - 1) / kQuadrant * kQuadrant;
  check_start("src", src, active, architecture);
  check_start("dst", dst, active, architecture);
  check_mask(draft);
}

/// All of src is read before dst is written, since they may be the same.
void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  const int64_t item = itemsize(src.dtype);
  Access copy;
  copy.partition_stride = src.elements() * item;
  copy.partitions = src.partitions;
  copy.dtype = src.dtype;
  copy.rank = 1;
  copy.free[0] = {src.elements(), item};
  std::vector<std::byte> storage(static_cast<size_t>(copy.partition_stride * src.partitions));
  copy.data = storage.data();
  for (int64_t p = 0; p < src.partitions; ++p) copy_row(src, p, copy, p);
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const int64_t source = source_partition(instance, p);
    if (source != kUnchanged) copy_row(copy, source, dst, p);
  }
}

/// One cycle per element (docs/hardware_facts.md#nc_stream_shuffle).
Demand demand(const Draft& draft, const Architecture&) {
  const View& src = draft.operand(kSrc);
  return elementwise::demand(RateClass::kOneInput, src, {&draft.operand(kDst), &src});
}

}  // namespace

Draft NcStreamShuffle::draft() const {
  const auto used = std::min<int64_t>(dst.partitions(), kQuadrant);
  const bool keeps = std::find(shuffle_mask.begin(), shuffle_mask.begin() + used, kUnchanged) !=
                     shuffle_mask.begin() + used;
  Draft draft = draft_of(kNcStreamShuffle, *this);
  draft.attributes[kKeeps] = Attribute::of(keeps);
  for (size_t i = 0; i < shuffle_mask.size(); ++i) {
    draft.attributes[kMask + i] = Attribute::of(shuffle_mask[i]);
  }
  return draft;
}

constinit const InstructionType kNcStreamShuffle = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
