#include "ops/copies/transpose.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/dma/dma_transpose.h"
#include "ops/blocks/tiles.h"
#include "ops/blocks/transposer.h"
#include "ops/contract/named_kernel.h"
#include "ops/contract/operand_checks.h"

namespace neuron_sim {
namespace {

constexpr int64_t kColumns = 512;  // columns of x per step
constexpr int64_t kCopyBytes = 8192;
constexpr int kInputRing = 3;
constexpr int kOutputRing = 8;
constexpr int kResultRing = 6;  // PSUM banks

/// Tiles of out, [128, kCopyBytes], that `fill(tile, row, rows, column, columns)` loads into SBUF.
template <typename Fill>
void emit_by_rows(Builder& builder, const View& out, const Fill& fill) {
  const int64_t partitions = builder.limits().partitions;
  const int64_t width = std::min(out.size(1), kCopyBytes / itemsize(out.dtype()));
  const View ring = builder.sbuf("rows", {partitions, width}, out.dtype(), kOutputRing);
  const int64_t steps = ceiling(out.size(1), width);
  for_tiles(
      builder, out.size(0), partitions, [&](const Affine& row, int64_t rows, const Affine& index) {
        for_tiles(builder, out.size(1), width,
                  [&](const Affine& column, int64_t columns, const Affine& step) {
                    const View tile =
                        ring.turn(index * steps + step).slice(0, 0, rows).slice(1, 0, columns);
                    fill(tile, row, rows, column, columns);
                    store(builder, out.slice(0, row, rows).slice(1, column, columns), tile,
                          EngineKind::kScalar);
                  });
      });
}

/// The rows of out are the columns of x, and contiguous there too.
void emit_copy(Builder& builder, const View& x, const View& out) {
  const View source = x.permute({1, 0});
  emit_by_rows(builder, out,
               [&](const View& tile, const Affine& row, int64_t rows, const Affine& column,
                   int64_t columns) {
                 load(builder, tile, source.slice(0, row, rows).slice(1, column, columns));
               });
}

/// The DMA engines exchange rows and columns on the way to SBUF.
void emit_dma_transpose(Builder& builder, const View& x, const View& out) {
  emit_by_rows(builder, out,
               [&](const View& tile, const Affine& row, int64_t rows, const Affine& column,
                   int64_t columns) {
                 const View source = x.slice(0, column, columns).slice(1, row, rows);
                 builder.emit(DmaTranspose{.dst = tile, .src = source, .engine = kLoadQueue});
               });
}

/// A step: all of a group of row blocks times some columns of x.
struct Window {
  Affine row;
  int64_t rows;
  Affine column;
  int64_t columns;
  Affine index;
};

class TransposeKernel {
 public:
  TransposeKernel(Builder& builder, const View& x, const View& out, EngineKind engine)
      : builder_(builder),
        x_(x),
        out_(out),
        partitions_(builder.limits().partitions),
        transposer_(builder, x.dtype(), kResultRing, engine) {
    const int64_t group = transposer_.group();
    columns_ = std::min(kColumns, x.size(1));
    input_ = builder.sbuf("rows", {partitions_, group, columns_}, x.dtype(), kInputRing);
    output_ = builder.sbuf("columns", {partitions_, group * partitions_}, x.dtype(), kOutputRing);
  }

  void emit() {
    const int64_t steps = ceiling(x_.size(1), columns_);
    for_tiles(builder_, x_.size(0), transposer_.group() * partitions_,
              [&](const Affine& row, int64_t rows, const Affine& index) {
                for_tiles(builder_, x_.size(1), columns_,
                          [&](const Affine& column, int64_t columns, const Affine& step) {
                            emit_window({row, rows, column, columns, index * steps + step});
                          });
              });
  }

 private:
  void emit_window(const Window& window) {
    const int64_t blocks = window.rows / partitions_, rest = window.rows % partitions_;
    const View source =
        x_.slice(0, window.row, window.rows).slice(1, window.column, window.columns);
    const View input = input_.turn(window.index).slice(2, 0, window.columns);
    if (blocks > 0) {
      load(builder_, input.slice(1, 0, blocks),
           source.slice(0, 0, blocks * partitions_)
               .split(0, blocks, partitions_)
               .permute({1, 0, 2}));
    }
    if (rest > 0) {
      load(builder_, input.select(1, blocks).slice(0, 0, rest),
           source.slice(0, blocks * partitions_, rest));
    }
    const int64_t column_blocks = ceiling(columns_, partitions_);
    for (int64_t column = 0; column < window.columns; column += partitions_) {
      emit_columns(window, input, column, window.index * column_blocks + column / partitions_);
    }
  }

  void emit_columns(const Window& window, const View& input, int64_t column, const Affine& turn) {
    const int64_t blocks = window.rows / partitions_, rest = window.rows % partitions_;
    const int64_t width = std::min(partitions_, window.columns - column);
    const bool scalar =
        builder_.architecture().features.scalar_tensor_ops && (column / partitions_) % 2 == 1;
    const EngineKind engine = scalar ? EngineKind::kScalar : EngineKind::kVector;
    const View output = output_.turn(turn).slice(0, 0, width);
    const auto source = [&](int64_t block, int64_t rows) {
      return input.select(1, block).slice(0, 0, rows).slice(1, column, width);
    };
    if (blocks > 0) {
      transposer_.transpose(
          output.slice(1, 0, blocks * partitions_).split(1, blocks, partitions_),
          [&](int64_t j) { return source(j, partitions_); }, turn, engine);
    }
    if (rest > 0) {
      transposer_.transpose(
          output.slice(1, blocks * partitions_, rest).expand(1),
          [&](int64_t) { return source(blocks, rest); }, turn + 1, engine);
    }
    store(builder_, out_.slice(0, window.column + column, width).slice(1, window.row, window.rows),
          output.slice(1, 0, window.rows));
  }

  Builder& builder_;
  const View x_, out_;
  int64_t partitions_, columns_ = 0;
  Transposer transposer_;
  View input_, output_;
};

/// Whether the columns of x, not its rows, are contiguous.
bool is_transposed(const View& x) {
  const int64_t element = itemsize(x.dtype());
  const bool rows_contiguous = x.size(1) == 1 || x.dimension(1).stride == element;
  const bool columns_contiguous = x.size(0) == 1 || x.dimension(0).stride == element;
  return columns_contiguous && !(rows_contiguous && x.size(1) > 1 && x.size(0) > 1);
}

}  // namespace

TransposeEngine parse_transpose_engine(std::string_view name) {
  if (name == "auto") return TransposeEngine::kAuto;
  if (name == "tensor") return TransposeEngine::kTensor;
  if (name == "vector") return TransposeEngine::kVector;
  if (name == "dma") return TransposeEngine::kDma;
  fail(text("transpose: engine '", name,
            "' is unknown; the engines are auto, tensor, vector and dma."));
}

void emit_transpose(Builder& builder, const View& x, const View& out, TransposeEngine engine) {
  builder.scope([&] {
    switch (engine) {
      case TransposeEngine::kTensor:
        return TransposeKernel(builder, x, out, EngineKind::kTensor).emit();
      case TransposeEngine::kVector:
        return TransposeKernel(builder, x, out, EngineKind::kVector).emit();
      case TransposeEngine::kDma:
      case TransposeEngine::kAuto: break;
    }
    if (is_transposed(x)) return emit_copy(builder, x, out);
    if (engine == TransposeEngine::kDma) return emit_dma_transpose(builder, x, out);
    TransposeKernel(builder, x, out, EngineKind::kAuto).emit();
  });
}

namespace {

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const TransposeOptions& /*options*/) {
  const TensorSpec& x = operands[0];
  check_rank("transpose", "x", x, 2);
  return {{{x.shape[1], x.shape[0]}, {}, x.dtype}};
}

void emit(Builder& builder, HbmTensors operands, HbmTensors results,
          const TransposeOptions& options) {
  const TensorSpec x = spec_of(operands[0]);
  const Architecture& architecture = builder.architecture();
  if (options.engine == TransposeEngine::kTensor && !architecture.features.exact_transpose &&
      !is_float(x.dtype)) {
    fail(text("transpose: engine 'tensor' of ", architecture.name,
              " multiplies with an identity, so ", describe("x", x), " must be floating."),
         ErrorKind::kType);
  }
  emit_transpose(builder, operands[0].view(), results[0].view(), options.engine);
}

}  // namespace

const KernelDefinition<TransposeOptions> kTranspose{"transpose", "x -> out", results_of, emit};
const NamedKernel kTransposeByName{kTranspose};

}  // namespace neuron_sim
