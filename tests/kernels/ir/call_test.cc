// Calls of intrinsics, evaluate and attribute statements, and structural equality: what printer, rewriting and
// interpreter make of them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ir/access.h"
#include "kernels/ir/equal.h"
#include "kernels/ir/interpret.h"
#include "kernels/ir/mutate.h"
#include "kernels/te/intrinsic.h"

namespace smelt::kernels::ir {
namespace {

using te::OperandRole;
using te::Scalar;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr te::DataType kF32{PrimitiveType::kF32, 1};

Buffer MakeBuffer(const std::string& name, std::vector<int64_t> shape, const Scope& scope, int64_t argument = -1) {
  return std::make_shared<const BufferNode>(BufferNode{
      .name = name, .type = PrimitiveType::kF32, .shape = std::move(shape), .scope = scope, .argument = argument});
}

// twice(x) = 2x.
const te::IntrinsicRef kTwice = te::MakeIntrinsic({.name = "twice",
                                                   .operands = {OperandRole::kValue},
                                                   .type = te::SameAsFirst,
                                                   .interpret = [](te::Arguments x, absl::Span<Scalar> result) {
                                                     for (size_t lane = 0; lane < result.size(); ++lane)
                                                       result[lane].f = 2 * x[0].lanes[lane].f;
                                                     return absl::OkStatus();
                                                   }});

// copy(&to, &from, count).
const te::IntrinsicRef kCopy =
    te::MakeIntrinsic({.name = "copy",
                       .operands = {OperandRole::kWrite, OperandRole::kRead, OperandRole::kValue},
                       .interpret = [](te::Arguments x, absl::Span<Scalar>) {
                         for (int64_t i = 0; i < x[2].lanes[0].i; ++i) {
                           Scalar value;
                           if (absl::Status status = x[1].place.Load(i, &value); !status.ok()) return status;
                           if (absl::Status status = x[0].place.Store(i, value); !status.ok()) return status;
                         }
                         return absl::OkStatus();
                       }});

// Rows of `in` to `out`, one call a row, through scratch; then out[0] = twice(out[0]).
Function Copying(int64_t rows, int64_t columns) {
  Function f;
  f.name = "copying";
  f.arguments = {MakeBuffer("in", {rows, columns}, Scope::kArgument, 0),
                 MakeBuffer("out", {rows, columns}, Scope::kArgument, 1)};
  f.input_count = 1;
  const te::Var i("i");
  const Buffer row = MakeBuffer("row", {columns}, Scope::kThread);
  const Stmt body =
      Seq({Evaluate(te::Call(
               kCopy, {te::AddressOf(row, {Expr(0)}), te::AddressOf(f.arguments[0], {i, Expr(0)}), Expr(columns)})),
           Evaluate(te::Call(
               kCopy, {te::AddressOf(f.arguments[1], {i, Expr(0)}), te::AddressOf(row, {Expr(0)}), Expr(columns)}))});
  const Stmt last =
      Store(f.arguments[1], {Expr(0), Expr(0)}, te::Call(kTwice, {te::Load(f.arguments[1], {Expr(0), Expr(0)})}));
  f.phases.push_back(
      {Expr(), 1,
       Seq({For(i, Expr(0), Expr(rows), ForKind::kSerial, Allocate(row, Attribute("rows", row, i, body))), last})});
  return f;
}

TEST(Calls, PrintLikeC) {
  EXPECT_EQ(ToString(Copying(2, 3)),
            "void copying(const f32 in[2, 3], f32 out[2, 3]) {\n"
            "  {\n"
            "    for (i = 0; i < 2; ++i) {\n"
            "      thread f32 row[3];\n"
            "      @rows(row, i)\n"
            "      copy(&row[0], &in[i, 0], 3);\n"
            "      copy(&out[i, 0], &row[0], 3);\n"
            "    }\n"
            "    out[0, 0] = twice(out[0, 0]);\n"
            "  }\n"
            "}\n");
}

TEST(Calls, AreInterpretedWhereTheyStand) {
  std::vector<float> in{1, 2, 3, 4, 5, 6}, out(6, 0);
  const absl::Status status = Interpret(Copying(2, 3), {in.data(), out.data()});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(out, ElementsAre(2, 2, 3, 4, 5, 6));
}

TEST(Calls, MustStayInsideOfTheirBuffers) {
  Function f = Copying(2, 3);
  const Stmt beyond = Evaluate(te::Call(kCopy, {te::AddressOf(f.arguments[1], {Expr(1), Expr(1)}),
                                                te::AddressOf(f.arguments[0], {Expr(0), Expr(0)}), Expr(3)}));
  f.phases[0].body = beyond;
  std::vector<float> in(6), out(6);
  EXPECT_THAT(std::string(Interpret(f, {in.data(), out.data()}).message()),
              HasSubstr("a call reaches element 6 of out, which has 6"));
}

TEST(Calls, OperandsMustFit) {
  const Function f = Copying(2, 3);
  const Expr zero = te::FloatConst(kF32, 0);
  EXPECT_THAT(std::string(kTwice->TypeOf({}).status().message()), HasSubstr("`twice` takes 1 operands, given 0"));
  EXPECT_THAT(std::string(kCopy->TypeOf({zero, zero, zero}).status().message()),
              HasSubstr("operand 0 of `copy` is a value and should be the address of an element"));
  const Expr address = te::AddressOf(f.arguments[0], {Expr(0), Expr(0)});
  EXPECT_FALSE(kTwice->TypeOf({address}).ok());
  EXPECT_FALSE(te::Prefetch()->TypeOf({address, Expr(2), Expr(3)}).ok());
  EXPECT_TRUE(te::Prefetch()->TypeOf({address, Expr(1), Expr(3)}).ok());
  EXPECT_TRUE(kTwice->IsPure());
  EXPECT_FALSE(te::Prefetch()->IsPure());
}

TEST(Calls, EqualCallsAreOneNodeAndSubstitutionReachesThem) {
  const Function f = Copying(2, 3);
  const te::Var i("i");
  const auto call = [&](const Expr& row) {
    return te::Call(te::Prefetch(), {te::AddressOf(f.arguments[0], {row, Expr(0)}), Expr(0), Expr(3)});
  };
  EXPECT_TRUE(call(i).Same(call(i)));
  EXPECT_FALSE(call(i).Same(call(Expr(1))));
  EXPECT_EQ(ToString(Substitute(Evaluate(call(i)), {{i, Expr(1)}})), "prefetch(&in[1, 0], 0, 3);\n");
  // Attributes, too.
  const Stmt attribute = Attribute("about", nullptr, i, Evaluate(call(i)));
  EXPECT_EQ(ToString(Substitute(attribute, {{i, Expr(1)}})), "@about(1)\nprefetch(&in[1, 0], 0, 3);\n");
}

TEST(Accesses, OfLoadsStoresAndAddressesMoveTogether) {
  const Function f = Copying(2, 3);
  const Buffer flat = MakeBuffer("flat", {6}, Scope::kArgument, 1);
  const Stmt moved = MapAccesses(f.phases[0].body, [&](const Buffer& buffer, const std::vector<Expr>& x) {
    return buffer == f.arguments[1] ? Access{flat, {x[0] * Expr(3) + x[1]}} : Access{};
  });
  EXPECT_EQ(ToString(moved),
            "for (i = 0; i < 2; ++i) {\n"
            "  thread f32 row[3];\n"
            "  @rows(row, i)\n"
            "  copy(&row[0], &in[i, 0], 3);\n"
            "  copy(&flat[(i*3)], &row[0], 3);\n"
            "}\n"
            "flat[0] = twice(flat[0]);\n");
}

TEST(Equality, IsUpToNamesOfWhatIsDeclared) {
  EXPECT_TRUE(Equal(Copying(2, 3), Copying(2, 3)));
  EXPECT_FALSE(Equal(Copying(2, 3), Copying(2, 4)));
  EXPECT_FALSE(Equal(Copying(2, 3), Copying(3, 3)));
  const Function f = Copying(2, 3);
  const te::Var i("i"), j("j");
  const auto loop = [&](const Expr& var, const Expr& stored) {
    return For(var, Expr(0), Expr(2), ForKind::kSerial, Store(f.arguments[1], {var, Expr(0)}, stored));
  };
  EXPECT_TRUE(Equal(loop(i, te::Load(f.arguments[0], {i, Expr(0)})), loop(j, te::Load(f.arguments[0], {j, Expr(0)}))));
  EXPECT_FALSE(Equal(loop(i, te::Load(f.arguments[0], {i, Expr(0)})), loop(j, te::Load(f.arguments[0], {i, Expr(0)}))));
  EXPECT_FALSE(
      Equal(Attribute("a", nullptr, Expr(), f.phases[0].body), Attribute("b", nullptr, Expr(), f.phases[0].body)));
}

}  // namespace
}  // namespace smelt::kernels::ir
