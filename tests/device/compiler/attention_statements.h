#pragma once
// The two attention kernels of the public traces (128 rows, sequence 512) as the vendor's compiler
// had them before its back end: batched statements, in source order, one instruction per instance.
// Every instance has a label; those of one statement share the word before the first space.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/compiler/line/straight_line.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {

/// A straight line whose instances have labels; passes may reorder it.
class LabelledLine {
 public:
  LabelledLine(std::shared_ptr<const Program> program, std::vector<std::string> labels)
      : line(*unroll(*program).line), labels_(std::move(labels)) {
    std::map<std::string, uint32_t> statements;
    for (size_t i = 0; i < line.instructions.size(); ++i) {
      const std::string word = labels_.at(i).substr(0, labels_[i].find(' '));
      line.instructions[i].statement =
          statements.emplace(word, static_cast<uint32_t>(statements.size())).first->second;
      line.instructions[i].nest = static_cast<uint32_t>(line.nests.size());  // survives reordering
      line.nests.push_back({.iteration = {static_cast<int32_t>(i)}});
    }
  }

  /// Labels of an engine's instances in the order of the line.
  std::vector<std::string> order(EngineKind engine) const {
    std::vector<std::string> result;
    for (const StraightInstruction& instance : line.instructions) {
      if (instance.instruction.engine != engine) continue;
      result.push_back(labels_.at(static_cast<size_t>(line.nest_of(instance).iteration[0])));
    }
    return result;
  }

  StraightLine line;

 private:
  std::vector<std::string> labels_;
};

/// Emits the statements of both kernels.
class AttentionStatements {
 public:
  AttentionStatements(const Architecture& architecture, Dtype dtype)
      : builder_("attention", architecture), dtype_(dtype) {}

  LabelledLine fused() {
    inputs();
    transpose("Tv", "copy_v", v_, transposed_v_, "");
    const View scores = builder_.psum("scores", {128, kSequence}, kSum, kTiles);
    const View maxima = statistics("maxima"), exponentials = tiles("exponentials");
    for (int q = 0; q < kTiles; ++q) {
      product("QK", q, scores.turn(q), query(q), k_);
      reduce("max", q, column(maxima, q), scores.turn(q), AluOp::kMaximum);
    }
    const View bias = negated(maxima), sums = statistics("sums");
    for (int q = 0; q < kTiles; ++q) {
      exponential(q, exponentials, scores.turn(q), bias);
      reduce("sum", q, column(sums, q), tile(exponentials, q), AluOp::kAdd);
    }
    const View factors = inverse(sums), weights = tiles("weights"), scaled = tiles("out", 128);
    for (int q = 0; q < kTiles; ++q) {
      transpose("Tp", "copy_p", tile(exponentials, q), tile(weights, q), " q" + std::to_string(q));
    }
    const View out = attend(weights);
    for (int q = 0; q < kTiles; ++q) scale("scale", q, scaled, out.turn(q), factors);
    return finish(scaled);
  }

  LabelledLine baseline() {
    inputs();
    const View scores = builder_.psum("scores", {128, kSequence}, kSum, kTiles);
    const View copied = tiles("copied"), loaded = tiles("loaded"), weights = tiles("weights");
    const View scratch = builder_.scratch("scores", {kTiles, 128, kSequence}, kSum);
    const View probabilities = builder_.scratch("weights", {kTiles, 128, kSequence}, kSum);
    for (int q = 0; q < kTiles; ++q) {
      product("QK", q, scores.turn(q), query(q), k_);
      emit("copy_s q" + std::to_string(q), TensorCopy{tile(copied, q), scores.turn(q)});
      if (q % 2 == 1) move("store_s", q / 2, scratch, copied, true);
    }
    const View maxima = statistics("maxima"), sums = statistics("sums");
    for (int q = 0; q < kTiles; ++q) {
      if (q % 2 == 0) move("load_s", q / 2, scratch, loaded, false);
      reduce("max", q, column(maxima, q), tile(loaded, q), AluOp::kMaximum);
    }
    const View bias = negated(maxima), exponentials = tiles("exponentials");
    for (int q = 0; q < kTiles; ++q) {
      exponential(q, exponentials, tile(loaded, q), bias);
      reduce("sum", q, column(sums, q), tile(exponentials, q), AluOp::kAdd);
    }
    const View factors = inverse(sums), scaled = tiles("scaled"), again = tiles("again");
    for (int q = 0; q < kTiles; ++q) {
      scale("scale", q, scaled, tile(exponentials, q), factors);
      if (q % 2 == 1) move("store_p", q / 2, probabilities, scaled, true);
    }
    transpose("Tv", "copy_v", v_, transposed_v_, "");
    for (int half = 0; half < kTiles / 2; ++half) {
      move("load_p", half, probabilities, again, false);
    }
    for (int q = 0; q < kTiles; ++q) {
      transpose("Tp", "copy_p", tile(again, q), tile(weights, q), " q" + std::to_string(q));
    }
    const View out = attend(weights), result = tiles("out", 128);
    for (int q = 0; q < kTiles; ++q) {
      emit("copy_o q" + std::to_string(q), TensorCopy{tile(result, q, 128), out.turn(q)});
    }
    return finish(result);
  }

 private:
  static constexpr int kTiles = 4;
  static constexpr int64_t kSequence = 512;
  static constexpr Dtype kSum = Dtype::kFloat32;

  template <typename Instruction>
  void emit(std::string label, const Instruction& instruction) {
    builder_.emit(instruction);
    labels_.push_back(std::move(label));
  }

  View tiles(const std::string& label, int64_t width = kSequence) {
    return builder_.sbuf(label, {128, kTiles * width}, kSum);
  }
  View tile(const View& all, int q, int64_t width = kSequence) const {
    return all.slice(1, q * width, width);
  }
  View statistics(const std::string& label) { return builder_.sbuf(label, {128, kTiles}, kSum); }
  View column(const View& all, int q) const { return all.slice(1, q, 1); }
  View query(int q) const { return q_.slice(1, q * 128, 128); }

  View identity(const std::string& label, Dtype dtype) {
    const std::vector<std::byte> contents(static_cast<size_t>(128 * 128 * itemsize(dtype)));
    const View constant = builder_.constant("identity", {128, 128}, dtype, contents);
    const View tile = builder_.sbuf("identity", {128, 128}, dtype);
    emit(label, DmaCopy{.dst = tile, .src = constant});
    return tile;
  }

  void inputs() {
    identity_ = identity("load_identity", kSum);
    input_identity_ = dtype_ == kSum ? identity_ : identity("load_identity_16", dtype_);
    View* const targets[] = {&q_, &k_, &v_};
    const char* const names[] = {"q", "k", "v"};
    for (int i = 0; i < 3; ++i) {
      // fp32 throughout: the orders of the bf16 kernels are the same.
      const View argument = builder_.argument(names[i], {128, kSequence}, dtype_);
      *targets[i] = builder_.sbuf(names[i], {128, kSequence}, dtype_);
      emit(std::string("load_") + names[i], DmaCopy{.dst = *targets[i], .src = argument});
    }
    transposed_v_ = builder_.sbuf("transposed_v", {128, kSequence}, kSum);
  }

  void product(const std::string& name, int q, const View& dst, const View& stationary,
               const View& moving) {
    emit(name + " q" + std::to_string(q),
         NcMatmul{.dst = dst, .stationary = stationary, .moving = moving});
  }

  /// Four transposes side by side in one bank, and one copy.
  void transpose(const std::string& name, const std::string& copy, const View& source,
                 const View& target, const std::string& suffix) {
    builder_.scope([&] {
      const View bank = builder_.psum(name, {128, kSequence}, source.dtype());
      for (int i = 0; i < kTiles; ++i) {
        emit(name + suffix + " " + std::to_string(i),
             NcMatmul{.dst = bank.slice(1, i * 128, 128),
                      .stationary = source.slice(1, i * 128, 128),
                      .moving = source.dtype() == kSum ? identity_ : input_identity_,
                      .is_transpose = true});
      }
      emit(copy + suffix, TensorCopy{target, bank});
    });
  }

  void reduce(const std::string& name, int q, const View& dst, const View& data, AluOp op) {
    emit(name + " q" + std::to_string(q), TensorReduce{.dst = dst, .data = data, .op = op});
  }

  View negated(const View& maxima) {
    const View bias = statistics("bias");
    emit("negmax", TensorReduce{.dst = bias.expand(2),
                                .data = maxima.expand(2),
                                .op = AluOp::kMaximum,
                                .negate = true});
    return bias;
  }

  void exponential(int q, const View& target, const View& source, const View& bias) {
    emit("exp q" + std::to_string(q), Activate{.dst = tile(target, q),
                                               .data = source,
                                               .op = Activation::kExp,
                                               .bias_tile = column(bias, q)});
  }

  View inverse(const View& sums) {
    const View total = statistics("total"), factors = statistics("factors");
    emit("total", TensorReduce{.dst = total.expand(2), .data = sums.expand(2), .op = AluOp::kAdd});
    emit("reciprocal", Reciprocal{factors, total});
    return factors;
  }

  void scale(const std::string& name, int q, const View& target, const View& source,
             const View& factors) {
    const int64_t width = source.free_elements();
    emit(name + " q" + std::to_string(q), TensorScalar{.dst = tile(target, q, width),
                                                       .data = source,
                                                       .operand0 = column(factors, q),
                                                       .op0 = AluOp::kMultiply});
  }

  /// Two tiles of 512 columns between HBM and SBUF in one transfer.
  void move(const std::string& name, int half, const View& tensor, const View& all, bool stores) {
    const View pair = tensor.slice(0, half * 2, 2).permute({1, 0, 2});
    const View chip = all.slice(1, half * 1024, 1024).split(1, 2, kSequence);
    emit(name + " " + std::to_string(half),
         stores ? DmaCopy{.dst = pair, .src = chip} : DmaCopy{.dst = chip, .src = pair});
  }

  View attend(const View& weights) {
    const View out = builder_.psum("out", {128, 128}, kSum, kTiles);
    for (int kv = 0; kv < kTiles; ++kv) {
      for (int q = 0; q < kTiles; ++q) {
        emit("PV q" + std::to_string(q) + " " + std::to_string(kv),
             NcMatmul{.dst = out.turn(q),
                      .stationary = tile(weights, q).slice(1, kv * 128, 128),
                      .moving = transposed_v_.slice(1, kv * 128, 128),
                      .accumulate = kv > 0});
      }
    }
    return out;
  }

  LabelledLine finish(const View& result) {
    const View argument = builder_.argument("out", {kTiles, 128, 128}, kSum);
    emit("store", DmaCopy{.dst = argument.permute({1, 0, 2}), .src = result.split(1, kTiles, 128)});
    return LabelledLine(builder_.finish(), std::move(labels_));
  }

  Builder builder_;
  Dtype dtype_;
  std::vector<std::string> labels_;
  View identity_, input_identity_, q_, k_, v_, transposed_v_;
};

}  // namespace neuron_sim
