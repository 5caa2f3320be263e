#pragma once
// Programs of several ranks on host arrays.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/execute/run_ranks.h"
#include "device/isa/dma/collective.h"
#include "device/numerics/dtype.h"

namespace neuron_sim::ranks {

using Lists = std::vector<std::vector<int64_t>>;
using Values = std::vector<float>;

inline std::shared_ptr<const ReplicaGroups> groups(Lists lists) {
  return std::make_shared<const ReplicaGroups>(ReplicaGroups{std::move(lists)});
}

/// A program of arguments x and y (as many rows as given) that `body` fills.
inline std::shared_ptr<const Program> program_of(
    const std::vector<int64_t>& x, const std::vector<int64_t>& y, Dtype dtype,
    const std::function<void(Builder&, const View&, const View&)>& body) {
  Builder builder("ranked", load_architecture("trn2"));
  const View source = builder.argument("x", x, dtype), target = builder.argument("y", y, dtype);
  body(builder, source, target);
  return builder.finish();
}

/// Host memory of ranks that run programs of two arguments of one dtype.
class RankedRun {
 public:
  explicit RankedRun(std::vector<std::shared_ptr<const Program>> programs)
      : programs_(std::move(programs)) {
    for (const auto& program : programs_) {
      for (const Argument& argument : program->arguments) {
        storage_.emplace_back(static_cast<size_t>(argument.bytes));
      }
    }
  }
  RankedRun(const std::shared_ptr<const Program>& program, size_t ranks)
      : RankedRun(std::vector(ranks, program)) {}

  void set(size_t rank, const Values& values, size_t argument = 0) {
    const Dtype dtype = programs_[rank]->arguments[argument].dtype;
    store_floats(values.data(), at(rank, argument).data(), dtype, itemsize(dtype),
                 static_cast<int64_t>(values.size()));
  }
  Values get(size_t rank, size_t argument = 1) {
    const Dtype dtype = programs_[rank]->arguments[argument].dtype;
    Values values(at(rank, argument).size() / static_cast<size_t>(itemsize(dtype)));
    load_floats(at(rank, argument).data(), dtype, itemsize(dtype), values.data(),
                static_cast<int64_t>(values.size()));
    return values;
  }
  std::vector<std::byte>& at(size_t rank, size_t argument) {
    return storage_[rank * programs_[0]->arguments.size() + argument];
  }
  void run() {
    std::vector<RankLaunch> launches;
    for (size_t rank = 0; rank < programs_.size(); ++rank) {
      RankLaunch launch{programs_[rank], {}};
      for (size_t i = 0; i < programs_[rank]->arguments.size(); ++i) {
        launch.arguments.push_back(at(rank, i).data());
      }
      launches.push_back(std::move(launch));
    }
    run_ranks(launches);
  }
  std::string error() {
    try {
      run();
    } catch (const KernelError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::vector<std::shared_ptr<const Program>> programs_;
  std::vector<std::vector<std::byte>> storage_;
};

/// Small whole numbers, exact in every dtype, different on every rank.
inline Values numbers(size_t rank, size_t count) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 3 + rank * 5) % 7);
  return values;
}

inline std::shared_ptr<const Program> collective_of(CollectiveKind kind,
                                                    const std::vector<int64_t>& x,
                                                    const std::vector<int64_t>& y,
                                                    const Lists& lists,
                                                    Dtype dtype = Dtype::kFloat32,
                                                    AluOp op = AluOp::kAdd, int64_t dimension = 0) {
  return program_of(x, y, dtype, [&](Builder& builder, const View& source, const View& target) {
    Collective collective{kind, target, source, groups(lists)};
    collective.op = op;
    collective.dimension = dimension;
    builder.emit(collective);
  });
}

}  // namespace neuron_sim::ranks
