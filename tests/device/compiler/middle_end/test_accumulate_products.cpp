#include "device/compiler/middle_end/accumulate_products.h"

#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

using Strings = std::vector<std::string_view>;

/// out = first + terms * (x.T x) for [128, 128] x: every product is named before it is added.
struct NamedSum {
  double initial = 0;
  int64_t terms = 3;
  bool swapped = false;       ///< product + sum, not sum + product
  bool through_sbuf = true;   ///< the addition reads a copy of the product
  bool stored_too = false;    ///< the copy goes to HBM as well
  bool read_between = false;  ///< the sum is read after the product, before the addition
  bool beside = false;        ///< another sum is in the same bank
  EngineKind engine = EngineKind::kAuto;
  AluOp op = AluOp::kAdd;

  std::shared_ptr<const Program> program() const {
    Builder builder("named_sum", load_architecture("trn2"));
    const View in = builder.argument("in", {128, 128}, Dtype::kFloat32);
    const View out = builder.argument("out", {128, 128}, Dtype::kFloat32);
    const View other = builder.argument("other", {128, 128}, Dtype::kFloat32);
    const View x = builder.sbuf("x", {128, 128}, Dtype::kFloat32);
    const View copy = builder.sbuf("copy", {128, 128}, Dtype::kFloat32);
    const View result = builder.sbuf("result", {128, 128}, Dtype::kFloat32);
    const View bank = builder.psum("bank", {128, 256}), sum = bank.slice(1, 0, 128);
    const View product = builder.psum("product", {128, 128});
    builder.emit(DmaCopy{.dst = x, .src = in});
    builder.emit(Memset{beside ? bank : sum, initial});
    const View addend = through_sbuf ? copy : product;
    // Both in PSUM is not an instruction of the chip: the sum is then kept in SBUF.
    const View target = through_sbuf ? sum : result;
    builder.loop(terms, [&](const Affine&) {
      builder.emit(NcMatmul{.dst = product, .stationary = x, .moving = x});
      if (through_sbuf) builder.emit(TensorCopy{copy, product});
      if (stored_too) builder.emit(DmaCopy{.dst = other, .src = copy});
      if (read_between) builder.emit(TensorCopy{result, sum});
      builder.emit(TensorTensor{.dst = target,
                                .data1 = swapped ? addend : target,
                                .data2 = swapped ? target : addend,
                                .op = op,
                                .engine = engine});
      if (beside) builder.emit(Memset{bank.slice(1, 128, 128), 1});
    });
    if (through_sbuf) builder.emit(TensorCopy{result, sum});
    builder.emit(DmaCopy{.dst = out, .src = result});
    return builder.finish();
  }
};

/// The line after the pass, which computes the same bytes.
StraightLine accumulated(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "accumulate_products");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return line;
}

size_t additions(const NamedSum& sum) {
  return widths(accumulated(sum.program()), "tensor_tensor").size();
}

TEST(AccumulateProducts, ProductsWithANameAddToPsumThemselves) {
  EXPECT_EQ(names(accumulated(NamedSum{.terms = 2}.program())),
            (Strings{"dma_copy", "memset", "nc_matmul", "nc_matmul", "tensor_copy", "dma_copy"}));
}

TEST(AccumulateProducts, TheOrderOfTheTermsDoesNotMatter) {
  EXPECT_EQ(additions(NamedSum{.swapped = true}), 0U);
}

TEST(AccumulateProducts, AnInitialValueIsKept) {
  const StraightLine line = accumulated(NamedSum{.initial = 2.5}.program());
  EXPECT_EQ(widths(line, "tensor_tensor").size(), 0U);
  EXPECT_EQ(widths(line, "memset").size(), 1U);
}

TEST(AccumulateProducts, ProductsThatAreReadElsewhereStay) {
  EXPECT_EQ(additions(NamedSum{.stored_too = true}), 3U);
}

TEST(AccumulateProducts, SumsThatAreReadBeforeTheAdditionStay) {
  EXPECT_EQ(additions(NamedSum{.read_between = true}), 3U);
}

TEST(AccumulateProducts, SumsInSbufStay) {
  EXPECT_EQ(additions(NamedSum{.through_sbuf = false}), 3U);
}

TEST(AccumulateProducts, BanksThatSomethingElseIsWrittenToStay) {
  EXPECT_EQ(additions(NamedSum{.beside = true}), 3U);
}

TEST(AccumulateProducts, AdditionsOnANamedEngineAndOtherOperatorsStay) {
  EXPECT_EQ(additions(NamedSum{.engine = EngineKind::kVector}), 3U);
  EXPECT_EQ(additions(NamedSum{.op = AluOp::kSubtract}), 3U);
}

/// Two products, of which the second is added first.
TEST(AccumulateProducts, AdditionsInAnotherOrderThanTheProductsKeepTheirRounding) {
  Builder builder("crossed", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 256}, Dtype::kFloat32);
  const View out = builder.argument("out", {128, 128}, Dtype::kFloat32);
  const View x = builder.sbuf("x", {128, 256}, Dtype::kFloat32);
  const View a = builder.sbuf("a", {128, 128}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {128, 128}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {128, 128});
  const View p = builder.psum("p", {128, 128}), q = builder.psum("q", {128, 128});
  const View left = x.slice(1, 0, 128), right = x.slice(1, 128, 128);
  builder.emit(DmaCopy{.dst = x, .src = in});
  builder.emit(Memset{sum, 1});
  builder.emit(NcMatmul{.dst = p, .stationary = left, .moving = left});
  builder.emit(TensorCopy{a, p});
  builder.emit(NcMatmul{.dst = q, .stationary = right, .moving = right});
  builder.emit(TensorCopy{b, q});
  builder.emit(TensorTensor{.dst = sum, .data1 = sum, .data2 = b, .op = AluOp::kAdd});
  builder.emit(TensorTensor{.dst = sum, .data1 = sum, .data2 = a, .op = AluOp::kAdd});
  builder.emit(TensorCopy{a, sum});
  builder.emit(DmaCopy{.dst = out, .src = a});
  EXPECT_EQ(widths(accumulated(builder.finish()), "tensor_tensor").size(), 1U);
}

TEST(AccumulateProducts, ASumOfNamedProductsTakesTheTimeOfOneOfUnnamedProducts) {
  Builder builder("sum", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 128}, Dtype::kFloat32);
  const View out = builder.argument("out", {128, 128}, Dtype::kFloat32);
  builder.argument("other", {128, 128}, Dtype::kFloat32);
  const View x = builder.sbuf("x", {128, 128}, Dtype::kFloat32);
  const View result = builder.sbuf("result", {128, 128}, Dtype::kFloat32);
  const View sum = builder.psum("bank", {128, 256}).slice(1, 0, 128);
  builder.emit(DmaCopy{.dst = x, .src = in});
  builder.emit(Memset{sum, 0});
  builder.loop(40, [&](const Affine&) {
    builder.emit(NcMatmul{.dst = sum, .stationary = x, .moving = x, .accumulate = true});
  });
  builder.emit(TensorCopy{result, sum});
  builder.emit(DmaCopy{.dst = out, .src = result});
  const PassSettings& settings = published_stack("neuronx-cc trn2 direct").settings;
  const auto time = [&](const std::shared_ptr<const Program>& program) {
    return simulate(*compile(program, settings).program).body;
  };
  EXPECT_EQ(time(NamedSum{.terms = 40}.program()), time(builder.finish()));
}

}  // namespace
}  // namespace neuron_sim
