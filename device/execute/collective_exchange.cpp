#include "device/execute/collective_exchange.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "device/base/errors.h"
#include "device/execute/variable_exchange.h"
#include "device/isa/dma/collective.h"
#include "device/isa/dma/dma_transfer.h"
#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

using collective_operand::kDst;
using collective_operand::kOther;
using collective_operand::kSrc;

/// Elementwise `result = op(result, value)`, for floats and integers.
template <typename Value>
void combine(AluOp op, std::vector<Value>& result, const std::vector<Value>& value) {
  const auto apply = [&](auto function) {
    for (size_t i = 0; i < result.size(); ++i) result[i] = function(result[i], value[i]);
  };
  switch (op) {
    case AluOp::kMaximum: return apply(alu::Maximum());
    case AluOp::kMinimum: return apply(alu::Minimum());
    default: return apply([](Value a, Value b) { return a + b; });
  }
}

/// Dense buffers of one dtype reduced in order: floats in fp32 with one rounding, integers modulo
/// their size.
DenseBuffer reduced(AluOp op, Dtype dtype, std::span<const DenseBuffer> buffers) {
  const int size = itemsize(dtype);
  const auto count = static_cast<int64_t>(buffers[0].size()) / size;
  DenseBuffer bytes(buffers[0].size());
  const auto fold = [&](auto load, auto store, auto zero) {
    std::vector<decltype(zero)> result(static_cast<size_t>(count)), value(result.size());
    load(buffers[0].data(), dtype, size, result.data(), count);
    for (const DenseBuffer& buffer : buffers.subspan(1)) {
      load(buffer.data(), dtype, size, value.data(), count);
      combine(op, result, value);
    }
    store(result.data(), bytes.data(), dtype, size, count);
  };
  if (is_integer(dtype)) {
    fold(load_integers, store_integers, int64_t{0});
  } else {
    fold(load_floats, store_floats, 0.0F);
  }
  return bytes;
}

/// The buffer that a rank sends: its source, or the buffer that it reduces to.
DenseBuffer sent_by(const InstructionType& type, AluOp op, const CollectiveMember& member) {
  const Access& src = member.operands[kSrc];
  if (kind_of(type) != CollectiveKind::kPermuteImplicitReduce) return dense_bytes(src);
  const std::array<DenseBuffer, 2> both = {dense_bytes(src), dense_bytes(member.operands[kOther])};
  return reduced(op, src.dtype, both);
}

/// The buffers of n ranks cut into `rows` rows of equal parts. A part is what one rank has of a row
/// of a gathered tensor.
struct Parts {
  size_t rows = 1;
  size_t bytes = 0;  ///< of one part
};

DenseBuffer gathered(const Parts& parts, std::span<const DenseBuffer> sent) {
  DenseBuffer result(parts.rows * parts.bytes * sent.size());
  std::byte* target = result.data();
  for (size_t row = 0; row < parts.rows; ++row) {
    for (const DenseBuffer& source : sent) {
      std::memcpy(target, source.data() + row * parts.bytes, parts.bytes);
      target += parts.bytes;
    }
  }
  return result;
}

/// Part `which` of `count` of every row.
DenseBuffer part_of(const Parts& parts, const DenseBuffer& whole, size_t which, size_t count) {
  DenseBuffer result(parts.rows * parts.bytes);
  for (size_t row = 0; row < parts.rows; ++row) {
    std::memcpy(result.data() + row * parts.bytes,
                whole.data() + (row * count + which) * parts.bytes, parts.bytes);
  }
  return result;
}

/// dst of every rank.
std::vector<DenseBuffer> results_of(const InstructionType& type,
                                    std::span<const Attribute> attributes, Dtype dtype, size_t rows,
                                    std::span<const DenseBuffer> sent) {
  const CollectiveKind kind = kind_of(type);
  const size_t ranks = sent.size();
  const auto op = attributes[collective_attribute::kOp].as<AluOp>();
  const bool whole = kind == CollectiveKind::kAllGather;
  const Parts parts{rows, sent[0].size() / rows / (whole ? 1 : ranks)};
  DenseBuffer common;
  if (kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter) {
    common = reduced(op, dtype, sent);
  }
  if (whole) common = gathered(parts, sent);
  std::vector<DenseBuffer> results;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (whole || kind == CollectiveKind::kAllReduce) {
      results.push_back(common);
    } else if (kind == CollectiveKind::kReduceScatter) {
      results.push_back(part_of(parts, common, rank, ranks));
    } else if (kind == CollectiveKind::kAllToAll) {
      std::vector<DenseBuffer> received;
      for (const DenseBuffer& source : sent)
        received.push_back(part_of(parts, source, rank, ranks));
      results.push_back(gathered(parts, received));
    } else {
      results.push_back(sent[(rank + ranks - 1) % ranks]);
    }
  }
  return results;
}

}  // namespace

void exchange(const InstructionType& type, std::span<const Attribute> attributes,
              std::span<const CollectiveMember> members) {
  const CollectiveKind kind = kind_of(type);
  if (kind == CollectiveKind::kAllGatherV || kind == CollectiveKind::kAllToAllV) {
    return exchange_variable(type, attributes, members);
  }
  const auto op = attributes[collective_attribute::kOp].as<AluOp>();
  std::vector<DenseBuffer> sent;
  for (const CollectiveMember& member : members) sent.push_back(sent_by(type, op, member));
  const Access& first = members[0].operands[kSrc];
  const bool along_rows = attributes[collective_attribute::kDimension].integer() == 1;
  const auto rows = along_rows ? static_cast<size_t>(first.partitions) : 1;
  const std::vector<DenseBuffer> results = results_of(type, attributes, first.dtype, rows, sent);
  for (size_t i = 0; i < members.size(); ++i) {
    store_dense(results[i], members[i].operands[kDst]);
  }
}

}  // namespace neuron_sim
