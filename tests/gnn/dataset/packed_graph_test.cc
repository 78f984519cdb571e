#include "gnn/dataset/packed_graph.h"

#include "fusion/kernel_of_module.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace smelt::gnn {
namespace {

KernelGraph GraphOf(const std::string& body) {
  const auto module = hlo::ParseModule("HloModule m\nENTRY e {\n" + body + "}\n").value();
  return ExtractFeatures(fusion::KernelOfModule(*module)->computation(), machine::Machine());
}

void ExpectSame(const KernelGraph& a, const KernelGraph& b) {
  EXPECT_EQ(a.opcodes, b.opcodes);
  EXPECT_EQ(a.node_features, b.node_features);
  EXPECT_EQ(a.operand_begin, b.operand_begin);
  EXPECT_EQ(a.operands, b.operands);
  EXPECT_EQ(a.kernel_features, b.kernel_features);
}

TEST(PackedGraph, UnpacksToWhatItWasMadeOf) {
  const auto rows = std::make_shared<NodeRows>();
  const KernelGraph product = GraphOf(
      "x = f32[64,256] parameter(0)  w = f32[256,32] parameter(1)\n"
      "  d = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT r = f32[64,32] add(d, d)\n");
  const KernelGraph sum = GraphOf("x = f32[64,256] parameter(0)  ROOT r = f32[64,256] add(x, x)\n");
  const PackedGraph packed_product(product, rows), packed_sum(sum, rows);
  ExpectSame(packed_product.Unpack(), product);
  ExpectSame(packed_sum.Unpack(), sum);
  EXPECT_EQ(packed_product.Opcodes(), product.opcodes);
  EXPECT_EQ(packed_product.node_count(), 4);
  EXPECT_EQ(packed_sum.LogEstimate(), sum.LogEstimate());
}

TEST(PackedGraph, RowsThatRepeatAreKeptOnce) {
  const auto rows = std::make_shared<NodeRows>();
  const KernelGraph graph = GraphOf("x = f32[64,256] parameter(0)  ROOT r = f32[64,256] negate(x)\n");
  const PackedGraph first(graph, rows), second(graph, rows);
  EXPECT_EQ(rows->count(), 2);
}

}  // namespace
}  // namespace smelt::gnn
