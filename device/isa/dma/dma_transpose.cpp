#include "device/isa/dma/dma_transpose.h"

#include <algorithm>
#include <numeric>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/isa/dma/dma_transfer.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "dma_transpose";
using enum DmaTranspose::OperandIndex;
using enum DmaTranspose::AttributeIndex;
constexpr auto kOperands = operand_table<DmaTranspose>();
constexpr auto kAttributes = attribute_table<DmaTranspose>();

// The block that the 16 DMA engines write together, and the most elements of a row of a descriptor.
constexpr int64_t kPartitionBlock = 128;
constexpr int64_t kElementBlock = 16;
constexpr int64_t kMostColumns = 128;

/// The axes as the attribute holds them: their decimal digits, (3, 1, 2, 0) is 3120.
int64_t digits(const std::vector<int>& axes) {
  return std::accumulate(axes.begin(), axes.end(), int64_t{0},
                         [](int64_t sum, int axis) { return sum * 10 + axis; });
}

/// The permutation of that rank: the first and the last dimension change places.
std::vector<int> permutation(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.front(), axes.back());
  return axes;
}

bool is_indirect(const Draft& draft) { return draft.operand(kIndex).present(); }

DescriptorNeeds needs(const Draft& draft) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  return {.indirect = is_indirect(draft),
          .register_address = dst.register_index() >= 0 || src.register_index() >= 0};
}

/// Empty when hardware can make the descriptors of that source, else the reason.
std::string_view hardware_objection(const View& src) {
  const int last = src.rank() - 1;
  const int64_t rows = src.size(0);
  if (itemsize(src.dtype()) != 2) return "hardware descriptors need 2-byte elements";
  if (src.size(last) > kMostColumns) {
    return "hardware descriptors need at most 128 elements in the last dimension of src";
  }
  if (last == 1) return rows == 16 ? "" : "hardware descriptors need a 2-D src of 16 rows";
  if (rows > 16 || (rows & (rows - 1)) != 0) {
    return "hardware descriptors need a src whose first dimension is 1, 2, 4, 8 or 16";
  }
  return rows * src.size(last - 1) % kElementBlock == 0
             ? ""
             : "hardware descriptors need src.shape[0] * src.shape[-2] to be a multiple of 16";
}

EngineKind choose_engine(const Draft& draft, const Architecture& architecture) {
  return choose_dma_engine(draft.attribute(kDescriptors).integer(), needs(draft), architecture);
}

DescriptorKind descriptor_kind(const Draft& draft, const Architecture& architecture) {
  const DescriptorKind kind = choose_descriptors(draft.attribute(kDescriptors).integer(),
                                                 needs(draft), draft.engine, architecture);
  const bool given = draft.attribute(kDescriptors).integer() != kDmaAutomatic;
  if (given || is_indirect(draft)) return kind;
  const bool hardware =
      kind == DescriptorKind::kHardware && hardware_objection(draft.operand(kSrc)).empty();
  return hardware ? kind : DescriptorKind::kStatic;
}

void check_shapes(const Draft& draft) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  if (src.rank() < 2 || src.rank() > 4) {
    fail(text("operand 'src' of 'dma_transpose' is ", src.describe(),
              ", but must have 2, 3 or 4 dimensions."));
  }
  const std::vector<int> axes = permutation(src.rank());
  if (draft.attribute(kAxes).integer() != digits(axes)) {
    fail(text("axes of 'dma_transpose' of ", src.describe(),
              " are not supported; (1, 0) of 2, (2, 1, 0) of 3 and (3, 1, 2, 0) of 4 dimensions",
              " are."));
  }
  bool same = dst.rank() == src.rank();
  for (int i = 0; same && i < dst.rank(); ++i) {
    same = dst.size(i) == src.size(axes[static_cast<size_t>(i)]);
  }
  if (!same) {
    fail(text("operand 'dst' of 'dma_transpose' is ", dst.describe(), ", which is not the shape ",
              "of the transpose of ", src.describe(), "."));
  }
  if (dst.dtype() != src.dtype()) {
    checks::dtype_error(kName, "dst", dst, text(name(src.dtype()), ", the dtype of 'src'"));
  }
  if (element_count(dst) == 0)
    fail(text("'dma_transpose' of no elements to ", dst.describe(), "."));
}

void check_index_shape(const View& src, const View& index) {
  const int64_t partitions = index.partitions(), columns = index.free_elements();
  if (index.rank() != 2 || partitions < kElementBlock || partitions > kPartitionBlock ||
      partitions % kElementBlock != 0 || (columns > 1 && partitions != kPartitionBlock)) {
    fail(text("operand 'index' of 'dma_transpose' is ", index.describe(),
              ", but must be [P, 1] with P a multiple of 16 up to 128, or [128, N]."));
  }
  if (src.size(0) % kElementBlock != 0 || src.size(0) > partitions * columns) {
    fail(text("operand 'src' of 'dma_transpose' is ", src.describe(), ", but with ",
              index.describe(), " its first dimension must be a multiple of 16 and at most ",
              partitions * columns, "."));
  }
}

void check_index(const Draft& draft, const Architecture& architecture) {
  const View& src = draft.operand(kSrc);
  const View& index = draft.operand(kIndex);
  if (index.present() != src.is_indirect()) {
    fail("'dma_transpose' needs operand 'index' together with an indirect 'src'.");
  }
  if (!index.present()) {
    if (!draft.attribute(kOobSkip).flag()) return;
    fail("'dma_transpose' skips rows out of bounds only with an indirect 'src'.");
  }
  if (!architecture.features.dma_transpose) {
    fail(text("'dma_transpose' with an indirect 'src' needs NeuronCore-v3 or newer (architecture ",
              architecture.name, ")."),
         ErrorKind::kNotImplemented);
  }
  checks::memory(kName, "src", src, {MemoryKind::kHbm});
  checks::memory(kName, "index", index, {MemoryKind::kSbuf});
  if (index.dtype() != Dtype::kUint32) checks::dtype_error(kName, "index", index, "uint32");
  if (itemsize(src.dtype()) != 2) {
    checks::dtype_error(kName, "src", src, "a 2-byte dtype, because it is indirect");
  }
  check_index_shape(src, index);
  if (src.size(src.rank() - 1) > kMostColumns) {
    fail(text("size of dimension ", src.rank() - 1, " in indirect 'src' ", src.describe(),
              " of 'dma_transpose' exceed limitation of ", kMostColumns, "."));
  }
  if (src.rank() == 4 && src.size(1) != 1 && src.size(2) != 1) {
    fail(text("dimension 1 or 2 of indirect 'src' ", src.describe(),
              " of 'dma_transpose' must have size 1."));
  }
}

void check_descriptors(const Draft& draft, const Architecture& architecture) {
  const View& src = draft.operand(kSrc);
  const DescriptorKind kind = descriptor_kind(draft, architecture);
  std::string_view reason = descriptor_objection(kind, needs(draft), draft.engine, architecture);
  if (reason.empty() && kind == DescriptorKind::kHardware) reason = hardware_objection(src);
  if (reason.empty() && kind == DescriptorKind::kSoftware && !is_indirect(draft)) {
    reason = "software descriptors transpose only with an index";
  }
  if (!reason.empty()) {
    fail(text("'dma_transpose' of ", name(src.dtype()), " ", src.describe(), " on engine ",
              name(draft.engine), " of architecture ", architecture.name, ": ", reason, "."),
         kind == DescriptorKind::kHardware && !architecture.features.hardware_descriptors
             ? ErrorKind::kNotImplemented
             : ErrorKind::kValue);
  }
  checks::dma_priority(kName, draft.attribute(kPriority).integer(), kind, architecture);
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::dma_engine(kName, draft.engine, architecture);
  checks::dma_operand(kName, "src", draft.operand(kSrc), architecture);
  checks::memory(kName, "dst", draft.operand(kDst), {MemoryKind::kSbuf});
  checks::partitions(kName, "dst", draft.operand(kDst), architecture);
  check_shapes(draft);
  checks::not_broadcast(kName, "dst", draft.operand(kDst));
  check_index(draft, architecture);
  check_descriptors(draft, architecture);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  const TransferSide to(dst);
  TransferSide from(src);
  const size_t last = from.rank - 1;
  std::swap(from.dimensions[0], from.dimensions[last]);  // now in the order of dst
  const int item = itemsize(dst.dtype);
  if (src.rows == nullptr) return copy_elements({src.data, from.all()}, {dst.data, to.all()}, item);
  for (int64_t row = 0; row < src.partitions; ++row) {
    if (src.rows[row] < 0) continue;
    copy_elements({src.partition(row), from.all().first(last)},
                  {dst.data + row * to.dimensions[last].stride, to.all().first(last)}, item);
  }
}

/// Whether the DMA engines transpose blocks; else they move elements one by one.
bool transposes_blocks(const Draft& draft, const Architecture& architecture) {
  return architecture.features.dma_transpose && itemsize(draft.operand(kSrc).dtype()) > 1;
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  const bool on_chip = src.memory() == MemoryKind::kSbuf;
  Step step{.unit = Unit::kDma,
            .descriptors = descriptor_kind(draft, architecture),
            .store = on_chip,
            .fragments = 1};
  const int64_t item = itemsize(src.dtype());
  const int last = dst.rank() - 1;
  if (!transposes_blocks(draft, architecture)) {
    std::array<Dimension, kMaximumCopyRank> from{}, to{};
    const size_t rank = descriptor_dimensions(src, from);
    descriptor_dimensions(dst, to);
    std::swap(from[0], from[rank - 1]);
    count_descriptors({to.data(), rank}, dst.dtype(), {from.data(), rank}, src.dtype(), step);
  } else if (is_indirect(draft)) {  // one descriptor per indexed row and dimension between
    step.transfer = TransferClass::kTransposeHbm;
    step.elements = element_count(src) / std::max<int64_t>(src.size(last), 1);
    step.bytes = src.size(last) * item;
    step.padded_bytes = round_up(src.size(last), kPartitionBlock) * item;
  } else {
    step.transfer = on_chip ? TransferClass::kTransposeSbuf : TransferClass::kTransposeHbm;
    step.elements = element_count(dst) / std::max<int64_t>(dst.size(last), 1);
    step.bytes = dst.size(last) * item;
    const int64_t partitions = std::max<int64_t>(dst.partitions(), 1);
    const int64_t padding = round_up(partitions, kPartitionBlock);
    step.padded_bytes = round_up(dst.size(last), kElementBlock) * item * padding / partitions;
  }
  Demand demand;
  demand.add(step);
  return demand;
}

}  // namespace

Draft DmaTranspose::draft() const {
  const std::vector<int> all = axes.empty() && src.rank() > 0 ? permutation(src.rank()) : axes;
  Draft draft = draft_of(kDmaTranspose, *this);
  draft.attributes[kAxes] = Attribute::of(digits(all));
  return draft;
}

const InstructionType kDmaTranspose = {kName,  kOperands, kAttributes, choose_engine,
                                       check,  run,       demand,      Synchronisation::kNone,
                                       kIndex, kOobSkip};

}  // namespace neuron_sim
