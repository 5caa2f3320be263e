#include "ops/kernels/conv2d_maxpool.h"

#include "device/base/errors.h"
#include "ops/kernels/conv2d_tiles.h"
#include "ops/tiles.h"

namespace neuron_sim {
namespace {

void check_tensors(const TensorSpec& input, const TensorSpec& weight, const TensorSpec& bias) {
  if (input.shape.size() != 4 || weight.shape.size() != 4 || bias.shape.size() != 1) {
    fail(
        text("conv2d_maxpool needs input [N, Cin, H, W], weight [Cout, Cin, KH, KW] and bias "
             "[Cout], but got ",
             describe("input", input), ", ", describe("weight", weight), " and ",
             describe("bias", bias), "."));
  }
  const bool known = input.dtype == Dtype::kFloat32 || input.dtype == Dtype::kFloat16 ||
                     input.dtype == Dtype::kBfloat16;
  if (!known || weight.dtype != input.dtype || bias.dtype != input.dtype) {
    fail(text("conv2d_maxpool needs one dtype of float32, float16 and bfloat16 for input, weight "
              "and bias, but got ",
              describe("input", input), ", ", describe("weight", weight), " and ",
              describe("bias", bias), "."),
         ErrorKind::kType);
  }
  if (weight.shape[1] != input.shape[1]) {
    fail(text("conv2d_maxpool needs as many input channels in weight as in input, but ",
              describe("weight", weight), " has ", weight.shape[1], " and ",
              describe("input", input), " has ", input.shape[1], "."));
  }
  if (bias.shape[0] != weight.shape[0]) {
    fail(text("conv2d_maxpool needs one bias per output channel, but ", describe("bias", bias),
              " has ", bias.shape[0], " and ", describe("weight", weight), " has ", weight.shape[0],
              " output channels."));
  }
  for (size_t i = 0; i < 4; ++i) {
    if (weight.shape[i] < 1 || input.shape[i] < (i == 0 ? 0 : 1)) {
      fail(text("conv2d_maxpool needs positive sizes, but dimension ", i, " of ",
                weight.shape[i] < 1 ? describe("weight", weight) : describe("input", input),
                " is not positive."));
    }
  }
}

void check_options(const Conv2dMaxpoolOptions& options) {
  const auto in_range = [](const char* name, int64_t value, int64_t minimum) {
    if (value < minimum) {
      fail(text("conv2d_maxpool needs a ", name, " of at least ", minimum, ", but got ", value,
                "."));
    }
    constexpr int64_t kLargest = int64_t{1} << 31;  // keeps sums of sizes in range
    if (value > kLargest) {
      fail(text("conv2d_maxpool needs a ", name, " of at most ", kLargest, ", but got ", value,
                "."));
    }
  };
  for (const int64_t value : options.pool_kernel) in_range("pool_size", value, 1);
  for (const int64_t value : options.stride) in_range("stride", value, 1);
  for (const int64_t value : options.padding) in_range("padding", value, 0);
  const std::array<int64_t, 2> unit{1, 1};
  if (options.pool_kernel[0] != options.pool_kernel[1] ||
      options.pool_stride != options.pool_kernel || options.dilation != unit ||
      options.groups != 1) {
    fail("conv2d_maxpool: the device kernel has no dilation, groups and overlapping windows yet.");
  }
}

/// Outputs along one axis; the kernel must fit and the pooling window divide them.
int64_t output_size(const char* axis, int64_t extent, int64_t kernel, int64_t stride,
                    int64_t padding, int64_t pool) {
  const int64_t room = extent + 2 * padding - kernel;
  if (room < 0) {
    fail(text("conv2d_maxpool: the kernel ", axis, " of ", kernel, " exceeds the padded input ",
              axis, " of ", extent + 2 * padding, " (", extent, " + 2 * ", padding, ")."));
  }
  const int64_t size = room / stride + 1;
  if (size % pool != 0) {
    fail(text("conv2d_maxpool: the pool_size of ", pool, " does not divide the convolution output ",
              axis, " of ", size, "."));
  }
  return size;
}

Conv2dShape make_shape(const TensorSpec& input, const TensorSpec& weight,
                       const Conv2dMaxpoolOptions& options) {
  Conv2dShape shape;
  shape.images = input.shape[0];
  shape.channels = input.shape[1];
  shape.height = input.shape[2];
  shape.width = input.shape[3];
  shape.filters = weight.shape[0];
  shape.kernel_h = weight.shape[2];
  shape.kernel_w = weight.shape[3];
  shape.stride_h = options.stride[0];
  shape.stride_w = options.stride[1];
  shape.padding_h = options.padding[0];
  shape.padding_w = options.padding[1];
  shape.pool = options.pool_kernel[0];
  shape.dtype = input.dtype;
  shape.output_h = output_size("height", shape.height, shape.kernel_h, shape.stride_h,
                               shape.padding_h, shape.pool);
  shape.output_w = output_size("width", shape.width, shape.kernel_w, shape.stride_w,
                               shape.padding_w, shape.pool);
  return shape;
}

/// Loops over images, panels of columns and bands of rows.
class BandLoops {
 public:
  BandLoops(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
            const View& images, Conv2dBandKernel& kernel)
      : builder_(builder), plan_(plan), tensors_(tensors), images_(images), kernel_(kernel) {}

  void run() {
    const int64_t rows = plan_.window_parts > 1 ? plan_.shape.pool : plan_.band_rows;
    const auto row_runs = cut(plan_.shape.output_h, rows, plan_.rows());
    const auto panels = cut(plan_.shape.output_w, plan_.panel_columns, plan_.columns());
    const int64_t bands = ceiling(plan_.shape.output_h, rows) * plan_.window_parts;
    const int64_t tiles = bands * ceiling(plan_.shape.output_w, plan_.panel_columns);
    for_tiles(builder_, plan_.shape.images, plan_.band_images,
              [&](const Affine& image, int64_t images, const Affine& number) {
                Conv2dBand band;
                band.image = image;
                band.images = images;
                int64_t panel_number = 0;
                for (const IntervalRun& panel : panels) {
                  builder_.loop(panel.count, [&](const Affine& i) {
                    band.column = i * panel.size + panel.start;
                    band.columns = panel.size;
                    run_rows(band, row_runs, number * tiles + (i + panel_number) * bands);
                  });
                  panel_number += panel.count;
                }
              });
  }

 private:
  void run_rows(Conv2dBand band, const std::vector<IntervalRun>& runs, const Affine& index) {
    int64_t number = 0;
    for (const IntervalRun& run : runs) {
      builder_.loop(run.count, [&](const Affine& i) {
        band.row = i * run.size + run.start;
        band.rows = run.size;
        band.index = index + (i + number) * plan_.window_parts;
        if (plan_.window_parts == 1) return emit(band, band.row);
        emit_parts(band);
      });
      number += run.count;
    }
  }

  /// The bands of one row of pooling windows: the first sets the maxima, the last stores them.
  void emit_parts(const Conv2dBand& whole) {
    Conv2dBand band = whole;
    band.rows = plan_.window_rows();
    const auto part = [&](const Affine& number, bool first, bool last) {
      band.index = whole.index + number;
      band.first_part = first;
      band.last_part = last;
      emit(band, whole.row + number * band.rows);
    };
    part(0, true, false);
    const int64_t middle = plan_.window_parts - 2;
    const bool inside =
        !whole.row.is_constant() || plan_.rows().is_inside(whole.row.constant(), whole.rows);
    if (inside) {
      builder_.loop(middle, [&](const Affine& i) { part(i + 1, false, false); });
    } else {
      for (int64_t i = 0; i < middle; ++i) part(i + 1, false, false);
    }
    part(plan_.window_parts - 1, false, true);
  }

  /// `row` is the first row of the band, band.row that of its row of pooling windows.
  void emit(const Conv2dBand& band, const Affine& row) {
    Conv2dBand loaded = band;
    loaded.row = row;
    const View tile = images_.turn(band.index);
    load_band(builder_, plan_, tensors_, tile, loaded);
    kernel_.compute(tile, band);
  }

  Builder& builder_;
  const Conv2dPlan& plan_;
  const Conv2dTensors& tensors_;
  View images_;
  Conv2dBandKernel& kernel_;
};

void emit_convolution(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
                      Activation activation) {
  Epilogue epilogue;
  epilogue.activation = activation;
  const View images = allocate_images(builder, plan);
  const View weights = allocate_weights(builder, plan);
  const RawWeights raw = allocate_raw_weights(builder, plan);
  clear_borders(builder, plan, images);
  epilogue.partition_bias = allocate_bias(builder, plan);
  Conv2dBandKernel kernel(builder, plan, weights, epilogue, tensors.output);
  for_tiles(builder, plan.shape.filters, plan.pass_filters,
            [&](const Affine& first, int64_t count, const Affine&) {
              const Conv2dPass pass{first, count};
              load_weights(builder, plan, tensors.weight, raw, weights, pass);
              load_bias(builder, plan, tensors.bias, epilogue.partition_bias, pass);
              kernel.begin_pass(pass);
              BandLoops(builder, plan, tensors, images, kernel).run();
            });
}

}  // namespace

BuiltOp build_conv2d_maxpool(const Architecture& architecture, const TensorSpec& input,
                             const TensorSpec& weight, const TensorSpec& bias,
                             const Conv2dMaxpoolOptions& options) {
  check_tensors(input, weight, bias);
  check_options(options);
  const Conv2dShape shape = make_shape(input, weight, options);
  BuiltOp op;
  op.output = {
      {shape.images, shape.filters, shape.output_h / shape.pool, shape.output_w / shape.pool},
      {},
      shape.dtype};
  if (op.output.elements() == 0) return op;
  const Conv2dPlan plan = plan_conv2d(architecture, shape);
  Builder builder("conv2d_maxpool", architecture);
  Conv2dTensors tensors;
  tensors.input =
      builder.argument("input", input.shape, shape.dtype, input.strides).permute({1, 0, 2, 3});
  tensors.weight = builder.argument("weight", weight.shape, shape.dtype, weight.strides);
  tensors.bias = builder.argument("bias", bias.shape, shape.dtype, bias.strides);
  tensors.output = builder.argument("output", op.output.shape, shape.dtype).permute({1, 0, 2, 3});
  tensors.zeros = zero_row(builder, plan);
  emit_convolution(builder, plan, tensors, options.activation);
  op.program = builder.finish();
  return op;
}

}  // namespace neuron_sim
