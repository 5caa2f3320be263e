#include "ops/conv2d/bands.h"

#include <vector>

#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

/// Loops over images, panels of columns and bands of rows.
class BandLoops {
 public:
  BandLoops(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
            const View& images, Conv2dBandKernel& kernel)
      : builder_(builder), plan_(plan), tensors_(tensors), images_(images), kernel_(kernel) {}

  void run() {
    const Conv2dShape& shape = plan_.shape;
    const auto row_runs = cut(shape.rows.outputs, plan_.band_outputs, shape.rows);
    const auto panels = cut(shape.columns.outputs, plan_.panel_outputs, shape.columns);
    const int64_t bands = ceiling(shape.rows.outputs, plan_.band_outputs) * plan_.window_parts;
    const int64_t tiles = bands * ceiling(shape.columns.outputs, plan_.panel_outputs);
    for_tiles(builder_, shape.images, plan_.band_images,
              [&](const Affine& image, int64_t images, const Affine& number) {
                Conv2dBand band;
                band.image = image;
                band.images = images;
                int64_t panel_number = 0;
                for (const IntervalRun& panel : panels) {
                  builder_.loop(panel.count, [&](const Affine& i) {
                    band.output_column = i * panel.size + panel.start;
                    band.output_columns = panel.size;
                    band.column = band.output_column * shape.columns.pool_stride;
                    band.columns = shape.columns.convolved(panel.size);
                    run_rows(band, row_runs, number * tiles + (i + panel_number) * bands);
                  });
                  panel_number += panel.count;
                }
              });
  }

 private:
  void run_rows(Conv2dBand band, const std::vector<IntervalRun>& runs, const Affine& index) {
    const Conv2dAxis& axis = plan_.shape.rows;
    int64_t number = 0;
    for (const IntervalRun& run : runs) {
      builder_.loop(run.count, [&](const Affine& i) {
        band.output_row = i * run.size + run.start;
        band.output_rows = run.size;
        band.row = band.output_row * axis.pool_stride;
        band.rows = axis.convolved(run.size);
        band.index = index + (i + number) * plan_.window_parts;
        if (plan_.window_parts == 1) return emit(band);
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
      band.row = whole.row + number * band.rows;
      band.index = whole.index + number;
      band.first_part = first;
      band.last_part = last;
      emit(band);
    };
    part(0, true, false);
    const int64_t middle = plan_.window_parts - 2;
    const Affine& first = whole.output_row;
    const bool inside =
        !first.is_constant() || plan_.shape.rows.is_inside(first.constant(), whole.output_rows);
    // Panels add a loop, and nesting is limited.
    if (inside && plan_.is_wide()) {
      builder_.loop(middle, [&](const Affine& i) { part(i + 1, false, false); });
    } else {
      for (int64_t i = 0; i < middle; ++i) part(i + 1, false, false);
    }
    part(plan_.window_parts - 1, false, true);
  }

  void emit(const Conv2dBand& band) {
    const View tile = images_.turn(band.index);
    load_band(builder_, plan_, tensors_, tile, band);
    kernel_.compute(tile, band);
  }

  Builder& builder_;
  const Conv2dPlan& plan_;
  const Conv2dTensors& tensors_;
  View images_;
  Conv2dBandKernel& kernel_;
};

}  // namespace

void run_bands(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
               const View& images, Conv2dBandKernel& kernel) {
  BandLoops(builder, plan, tensors, images, kernel).run();
}

}  // namespace neuron_sim
