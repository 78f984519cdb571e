// Loads and stores of every kind, scratch of every scope and phases: generated code against the interpreter of the loop
// IR, which checks bounds.
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"
#include "kernels/ir/interpret.h"
#include "kernels/te/scalar.h"
#include "tests/targets/cpu/codegen/vector_kernel.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::Expr;
using kernels::te::PrimitiveType;

constexpr int64_t kSize = 256;
constexpr int kLanes = 16;

Expr Splat(int64_t value) { return kernels::te::Splat(Expr(value), kLanes); }
Expr Lane() { return kernels::te::Ramp(0, 1, kLanes); }

// Runs a function of flat arguments of kSize elements both ways, from the same contents.
void ExpectAsInterpreted(const kernels::ir::Function& function, const std::string& what) {
  auto code = CompileForHost(function);
  ASSERT_NE(code, nullptr) << what;
  std::vector<std::unique_ptr<Array<char>>> ours, theirs;
  std::vector<void*> our_buffers, their_buffers;
  std::mt19937 random(5);
  for (const kernels::ir::Buffer& buffer : function.arguments) {
    const int64_t bytes = buffer->ByteSize();
    ours.push_back(std::make_unique<Array<char>>(bytes));
    theirs.push_back(std::make_unique<Array<char>>(bytes));
    for (int64_t i = 0; i < buffer->ElementCount(); ++i) {
      kernels::te::Scalar value{static_cast<int64_t>(random() % 200) - 100,
                                static_cast<double>(random() % 2000) / 8 - 100};
      value = kernels::te::RoundTo(buffer->type, value);
      kernels::te::StoreElement(buffer->type, ours.back()->data(), i, value);
      kernels::te::StoreElement(buffer->type, theirs.back()->data(), i, value);
    }
    our_buffers.push_back(ours.back()->data());
    their_buffers.push_back(theirs.back()->data());
  }
  std::vector<std::unique_ptr<Array<char>>> scratch;
  for (int64_t bytes : code->descriptor().shared_bytes) {
    scratch.push_back(std::make_unique<Array<char>>(bytes));
    our_buffers.push_back(scratch.back()->data());
  }
  Execute(*code, our_buffers);
  absl::Status interpreted = kernels::ir::Interpret(function, their_buffers);
  ASSERT_TRUE(interpreted.ok()) << what << ": " << interpreted;
  for (size_t a = 0; a < function.arguments.size(); ++a) {
    const kernels::ir::BufferNode& buffer = *function.arguments[a];
    for (int64_t i = 0; i < buffer.ElementCount(); ++i) {
      const kernels::te::Scalar got = kernels::te::LoadElement(buffer.type, ours[a]->data(), i);
      const kernels::te::Scalar want = kernels::te::LoadElement(buffer.type, theirs[a]->data(), i);
      ASSERT_TRUE(got.i == want.i && (got.f == want.f || (got.f != got.f && want.f != want.f)))
          << what << ": " << buffer.name << "[" << i << "] is " << got.i << " / " << got.f << ", not " << want.i
          << " / " << want.f;
    }
  }
}

struct Buffers {
  explicit Buffers(PrimitiveType type) : in(Argument("in", type, kSize, 0)), out(Argument("out", type, kSize, 1)) {}
  kernels::ir::Function Function(kernels::ir::Stmt body) const {
    kernels::ir::Function function;
    function.name = "memory";
    function.arguments = {in, out};
    function.input_count = 1;
    kernels::ir::Phase phase;
    phase.body = std::move(body);
    function.phases = {phase};
    return function;
  }
  kernels::ir::Buffer in, out;
};

class MemoryTest : public testing::TestWithParam<PrimitiveType> {};

TEST_P(MemoryTest, LoadsLanesAtAnyDistance) {
  const Buffers buffers(GetParam());
  for (int64_t stride : {0, 1, 2, 3, 4, 5, 7, -1, -2, -3}) {
    const int64_t first = stride < 0 ? -stride * (kLanes - 1) : 0;
    kernels::te::Var i("i");
    // Up to the very last element that exists.
    const int64_t last = kSize - 1 - std::abs(stride) * (kLanes - 1);
    ExpectAsInterpreted(
        buffers.Function(kernels::ir::For(
            i, 0, 8, kernels::ir::ForKind::kSerial,
            kernels::ir::Store(buffers.out, {kernels::te::Ramp(i * kLanes, 1, kLanes)},
                               kernels::te::Load(buffers.in, {kernels::te::Ramp(kernels::te::Min(i * 9, last) + first,
                                                                                stride, kLanes)})))),
        "stride " + std::to_string(stride));
  }
}

TEST_P(MemoryTest, StoresLanesAtAnyDistance) {
  const Buffers buffers(GetParam());
  for (int64_t stride : {1, 2, 3, 5, -1, -4}) {
    const int64_t first = stride < 0 ? -stride * (kLanes - 1) : 0;
    kernels::te::Var i("i");
    ExpectAsInterpreted(
        buffers.Function(kernels::ir::For(
            i, 0, 4, kernels::ir::ForKind::kSerial,
            kernels::ir::Store(buffers.out, {kernels::te::Ramp(i + first, stride, kLanes)},
                               kernels::te::Load(buffers.in, {kernels::te::Ramp(i * kLanes, 1, kLanes)})))),
        "stride " + std::to_string(stride));
  }
}

// Rows of a few elements, each stored as a vector over the rows: of its own values, added to what was there, each added
// to the one before (which the store before it has just written), and in another order.
TEST_P(MemoryTest, InterleavesStores) {
  const Buffers buffers(GetParam());
  if (GetParam() == PrimitiveType::kPred) GTEST_SKIP() << "truth values are not added";
  for (const int64_t width : {2, 3, 4, 5, 8}) {
    kernels::te::Var i("i");
    const auto at = [&](int64_t k) { return kernels::te::Ramp(i * (kLanes * width) + k, width, kLanes); };
    const auto in = [&](int64_t k) {
      return kernels::te::Load(buffers.in, {kernels::te::Ramp(i * kLanes + k * 8, 1, kLanes)});
    };
    const auto out = [&](int64_t k) { return kernels::te::Load(buffers.out, {at(k)}); };
    std::vector<kernels::ir::Stmt> own, added, running, reversed;
    for (int64_t k = 0; k < width; ++k) {
      own.push_back(kernels::ir::Store(buffers.out, {at(k)}, in(k)));
      added.push_back(kernels::ir::Store(buffers.out, {at(k)}, out(k) + in(k)));
      running.push_back(kernels::ir::Store(buffers.out, {at(k)}, k == 0 ? in(k) : out(k - 1) + in(k)));
      reversed.insert(reversed.begin(), own.back());
    }
    for (const auto& [what, stores] : std::vector<std::pair<std::string, std::vector<kernels::ir::Stmt>>>{
             {"own", own}, {"added", added}, {"running", running}, {"reversed", reversed}}) {
      ExpectAsInterpreted(buffers.Function(kernels::ir::For(i, 0, kSize / (kLanes * width),
                                                            kernels::ir::ForKind::kSerial, kernels::ir::Seq(stores))),
                          what + " " + std::to_string(width));
    }
  }
}

TEST_P(MemoryTest, TakesRowsApart) {
  const Buffers buffers(GetParam());
  for (const int64_t width : {2, 3, 5, 6, 8, 12, 15}) {
    kernels::te::Var i("i");
    const auto row = [&](int64_t k) {
      return kernels::te::Load(buffers.in, {kernels::te::Ramp(i * (kLanes * width) + k, width, kLanes)});
    };
    const auto store = [&](int64_t k, Expr value) {
      return kernels::ir::Store(buffers.out, {kernels::te::Ramp(i * (kLanes * width) + k * kLanes, 1, kLanes)}, value);
    };
    std::vector<kernels::ir::Stmt> all, some, shifted;
    for (int64_t k = 0; k < width; ++k) {
      all.push_back(store(k, row(k)));
      if (k > 0) some.push_back(store(k, row(k)));
      if (k + 1 < width) shifted.push_back(store(k, row(k + 1)));
    }
    shifted.push_back(store(width - 1, row(1)));
    const std::vector<kernels::ir::Stmt> reversed(all.rbegin(), all.rend());
    for (const auto& [what, stores] : std::vector<std::pair<std::string, std::vector<kernels::ir::Stmt>>>{
             {"all", all}, {"some", some}, {"shifted", shifted}, {"reversed", reversed}}) {
      ExpectAsInterpreted(buffers.Function(kernels::ir::For(i, 0, kSize / (kLanes * width),
                                                            kernels::ir::ForKind::kSerial, kernels::ir::Seq(stores))),
                          what + " " + std::to_string(width));
    }
  }
}

// What has been written in between is read anew.
TEST_P(MemoryTest, TakesNoRowsApartThatItWrites) {
  const Buffers buffers(GetParam());
  if (GetParam() == PrimitiveType::kPred) GTEST_SKIP() << "truth values are not added";
  const auto row = [&](int64_t k) { return kernels::te::Load(buffers.out, {kernels::te::Ramp(k, 6, kLanes)}); };
  std::vector<kernels::ir::Stmt> stores;
  for (int64_t k = 0; k < 6; ++k) {
    stores.push_back(kernels::ir::Store(buffers.out, {kernels::te::Ramp(k * kLanes, 1, kLanes)}, row(k) + row(0)));
  }
  ExpectAsInterpreted(buffers.Function(kernels::ir::Seq(stores)), "written");
}

TEST_P(MemoryTest, GathersAndScattersByIndexArithmetic) {
  const Buffers buffers(GetParam());
  kernels::te::Var i("i");
  const Expr flat = kernels::te::Ramp(i * kLanes, 1, kLanes);
  // A transposition of 16 by 16: (x mod 16) * 16 + x / 16.
  const Expr moved = kernels::te::FloorMod(flat, Splat(16)) * Splat(16) + kernels::te::FloorDiv(flat, Splat(16));
  ExpectAsInterpreted(buffers.Function(kernels::ir::For(
                          i, 0, 16, kernels::ir::ForKind::kSerial,
                          kernels::ir::Store(buffers.out, {flat}, kernels::te::Load(buffers.in, {moved})))),
                      "gather");
  ExpectAsInterpreted(buffers.Function(kernels::ir::For(
                          i, 0, 16, kernels::ir::ForKind::kSerial,
                          kernels::ir::Store(buffers.out, {moved}, kernels::te::Load(buffers.in, {flat})))),
                      "scatter");
  // Floor division of negative numbers.
  const Expr negative = kernels::te::FloorDiv(flat - Splat(100), Splat(3)) + Splat(40);
  ExpectAsInterpreted(buffers.Function(kernels::ir::For(
                          i, 0, 16, kernels::ir::ForKind::kSerial,
                          kernels::ir::Store(buffers.out, {flat}, kernels::te::Load(buffers.in, {negative})))),
                      "negative");
}

// Places of a vector's lanes that are known beside each other: lines of a block, pairs, elements that are repeated.
Expr LanesOfBlock(const Expr& start, int64_t line, int64_t apart) {
  const Expr lines = kernels::te::FloorDiv(Lane(), Splat(line)) * Splat(apart);
  return kernels::te::Splat(start, kLanes) + (lines + kernels::te::FloorMod(Lane(), Splat(line)));
}

TEST_P(MemoryTest, LoadsLanesOfBlocks) {
  const Buffers buffers(GetParam());
  for (const auto& [line, apart] : {std::pair<int64_t, int64_t>{8, 64}, {4, 64}, {2, 30}, {1, 11}, {8, 3}, {5, 60}}) {
    kernels::te::Var i("i");
    const int64_t last = kSize - 1 - ((kLanes - 1) / line * apart + std::min<int64_t>(line, kLanes) - 1);
    const Expr from = LanesOfBlock(kernels::te::Min(i * 7, last), line, apart);
    ExpectAsInterpreted(
        buffers.Function(kernels::ir::For(i, 0, 16, kernels::ir::ForKind::kSerial,
                                          kernels::ir::Store(buffers.out, {kernels::te::Ramp(i * kLanes, 1, kLanes)},
                                                             kernels::te::Load(buffers.in, {from})))),
        "lines of " + std::to_string(line) + ", " + std::to_string(apart) + " apart");
  }
}

TEST_P(MemoryTest, PerformsOnlyWhatThePredicateAllows) {
  const Buffers buffers(GetParam());
  kernels::te::Var i("i");
  const Expr flat = kernels::te::Ramp(i * kLanes, 1, kLanes);
  const Expr some = Lane() < kernels::te::Splat(i, kLanes);
  const Expr row = kernels::te::Splat(kernels::te::And(Expr(2) <= i, i < Expr(9)), kLanes);
  struct Case {
    const char* name;
    Expr index, predicate;
  };
  const Expr third = kernels::te::Splat(i == Expr(3), kLanes);
  const auto far = [&](int64_t stride) { return kernels::te::Ramp(i * 100000 - 300000 + 100, stride, kLanes); };
  const Case cases[] = {
      {"row, every second", far(2), third},
      {"row, every fifth", far(5), third},
      {"row, backwards", far(-1), third},
      {"row, every third backwards", far(-3), third},
      {"row, lanes further apart than the buffer is long", far(kSize), kernels::te::And(third, Lane() < Splat(1))},
      {"lanes", kernels::te::Ramp(i * kLanes, 1, kLanes), some},
      // Whole vectors outside of the buffer, far away on both sides.
      {"row", kernels::te::Ramp(i * 100000 - 300000, 1, kLanes), kernels::te::Splat(i == Expr(3), kLanes)},
      {"row and lanes", kernels::te::Ramp(i * kLanes - 32, 1, kLanes), kernels::te::And(row, some)},
      {"strided", kernels::te::Ramp(i * 8, 3, kLanes), some},
      {"gathered", kernels::te::FloorMod(flat * Splat(7), Splat(kSize)), some},
      {"beyond the end", kernels::te::Ramp(kSize - 5, 1, kLanes), Lane() < Splat(5)},
  };
  for (const Case& c : cases) {
    ExpectAsInterpreted(
        buffers.Function(kernels::ir::For(
            i, 0, 16, kernels::ir::ForKind::kSerial,
            kernels::ir::Store(buffers.out, {flat}, kernels::te::Load(buffers.in, {c.index}, c.predicate)))),
        std::string("load ") + c.name);
    ExpectAsInterpreted(
        buffers.Function(kernels::ir::For(
            i, 0, 16, kernels::ir::ForKind::kSerial,
            kernels::ir::Store(buffers.out, {c.index}, kernels::te::Load(buffers.in, {flat}), c.predicate))),
        std::string("store ") + c.name);
  }
  kernels::te::Var j("j");
  ExpectAsInterpreted(
      buffers.Function(kernels::ir::For(
          j, 0, kSize, kernels::ir::ForKind::kSerial,
          kernels::ir::Store(buffers.out, {j}, kernels::te::Load(buffers.in, {j * 3}, j * 3 < Expr(kSize)),
                             kernels::te::FloorMod(j, 5) < Expr(3)))),
      "scalars");
}

TEST_P(MemoryTest, KeepsScratchOfEveryScopeApart) {
  const Buffers buffers(GetParam());
  kernels::ir::Buffer shared = Scratch("shared", GetParam(), kSize, kernels::ir::Scope::kShared);
  kernels::ir::Buffer thread = Scratch("thread", GetParam(), kLanes, kernels::ir::Scope::kThread);
  kernels::ir::Buffer other = Scratch("other", GetParam(), kLanes, kernels::ir::Scope::kThread);
  kernels::ir::Buffer local = Scratch("local", GetParam(), kLanes, kernels::ir::Scope::kLocal);
  kernels::te::Var i("i"), j("j");
  const Expr flat_i = kernels::te::Ramp(i * kLanes, 1, kLanes), flat_j = kernels::te::Ramp(j * kLanes, 1, kLanes);
  auto max = [](Expr a, Expr b) { return kernels::te::Binary(kernels::te::BinaryOp::kMax, a, b); };
  kernels::ir::Function function = buffers.Function(nullptr);
  function.shared = {shared};
  kernels::ir::Phase first, second;
  first.var = i;
  first.extent = 16;
  first.body = kernels::ir::Allocate(
      thread,
      kernels::ir::Seq(
          {kernels::ir::Store(thread, {Lane()}, kernels::te::Load(buffers.in, {flat_i})),
           kernels::ir::Allocate(
               other,
               kernels::ir::Seq({kernels::ir::Store(other, {Lane()},
                                                    kernels::te::Load(buffers.in, {kernels::te::Ramp(240, 1, kLanes)})),
                                 kernels::ir::Store(shared, {flat_i},
                                                    max(kernels::te::Load(thread, {Lane()}),
                                                        kernels::te::Load(other, {Lane()})))}))}));
  second.var = j;
  second.extent = 16;
  kernels::te::Var k("k");
  second.body = kernels::ir::Allocate(
      local, kernels::ir::Seq(
                 {kernels::ir::Store(local, {Lane()}, kernels::te::Load(shared, {flat_j})),
                  kernels::ir::For(
                      k, 0, 16, kernels::ir::ForKind::kSerial,
                      kernels::ir::Store(local, {Lane()},
                                         max(kernels::te::Load(local, {Lane()}),
                                             kernels::te::Load(shared, {kernels::te::Ramp(k * kLanes, 1, kLanes)})))),
                  kernels::ir::Store(buffers.out, {flat_j}, kernels::te::Load(local, {Lane()})),
                  // One element of a vector that lives in registers.
                  kernels::ir::Store(buffers.out, {j * kLanes}, kernels::te::Load(local, {3}))}));
  function.phases = {first, second};
  ExpectAsInterpreted(function, "scopes");
}

TEST_P(MemoryTest, BranchesAndReadsWhatItHasJustWritten) {
  const Buffers buffers(GetParam());
  kernels::te::Var i("i"), j("j");
  kernels::ir::Stmt body = kernels::ir::For(
      i, 1, kSize - 1, kernels::ir::ForKind::kSerial,
      kernels::ir::Seq(
          {kernels::ir::IfThen(
               kernels::te::FloorMod(i, 3) == Expr(0),
               kernels::ir::Store(buffers.out, {i}, kernels::te::Load(buffers.in, {i})),
               kernels::ir::IfThen(i < Expr(100),
                                   kernels::ir::Store(buffers.out, {i}, kernels::te::Load(buffers.out, {i - 1})))),
           kernels::ir::For(
               j, i, kernels::te::Min(Expr(kSize) - i, 2), kernels::ir::ForKind::kSerial,
               kernels::ir::Store(buffers.out, {j},
                                  kernels::te::Binary(kernels::te::BinaryOp::kMin, kernels::te::Load(buffers.out, {j}),
                                                      kernels::te::Load(buffers.out, {i - 1}))))}));
  ExpectAsInterpreted(buffers.Function(body), "branches");
}

INSTANTIATE_TEST_SUITE_P(Types, MemoryTest,
                         testing::Values(PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kBF16,
                                         PrimitiveType::kF16, PrimitiveType::kS8, PrimitiveType::kS32,
                                         PrimitiveType::kPred),
                         [](const auto& info) { return std::string(hlo::PrimitiveTypeName(info.param)); });

// acc[i] += a[k] * b[k, i] over `accumulators` vectors, the first `stored` of which are stored.
kernels::ir::Function RegisterTile(int accumulators, int stored) {
  constexpr int64_t kSteps = 64;
  kernels::ir::Function function;
  function.name = "tile";
  function.input_count = 2;
  function.arguments = {Argument("a", PrimitiveType::kF32, kSteps * accumulators, 0),
                        Argument("b", PrimitiveType::kF32, kSteps * kLanes, 1),
                        Argument("c", PrimitiveType::kF32, int64_t{accumulators} * kLanes, 2)};
  kernels::ir::Buffer local =
      Scratch("local", PrimitiveType::kF32, int64_t{accumulators} * kLanes, kernels::ir::Scope::kLocal);
  kernels::te::Var k("k");
  std::vector<kernels::ir::Stmt> begin, loop, end;
  for (int i = 0; i < accumulators; ++i) {
    const Expr at = kernels::te::Ramp(i * kLanes, 1, kLanes);
    begin.push_back(kernels::ir::Store(
        local, {at}, kernels::te::Splat(kernels::te::FloatConst({PrimitiveType::kF32, 1}, 0), kLanes)));
    const Expr product = kernels::te::Binary(
        kernels::te::BinaryOp::kMul,
        kernels::te::Splat(kernels::te::Load(function.arguments[0], {k * accumulators + i}), kLanes),
        kernels::te::Load(function.arguments[1], {kernels::te::Ramp(k * kLanes, 1, kLanes)}));
    loop.push_back(kernels::ir::Store(
        local, {at}, kernels::te::Binary(kernels::te::BinaryOp::kAdd, kernels::te::Load(local, {at}), product)));
    if (i < stored) end.push_back(kernels::ir::Store(function.arguments[2], {at}, kernels::te::Load(local, {at})));
  }
  kernels::ir::Phase phase;
  phase.body = kernels::ir::Allocate(
      local, kernels::ir::Seq({kernels::ir::Seq(begin),
                               kernels::ir::For(k, 0, kSteps, kernels::ir::ForKind::kSerial, kernels::ir::Seq(loop)),
                               kernels::ir::Seq(end)}));
  function.phases = {phase};
  return function;
}

kernels::ir::Function RegisterTile(int accumulators) { return RegisterTile(accumulators, accumulators); }

std::string AssemblyFor(const kernels::ir::Function& function, const std::string& cpu) {
  Target target;
  target.name = cpu;
  std::string assembly;
  CodegenOptions options;
  options.assembly_text = &assembly;
  EXPECT_TRUE(EmitObject(function, target, options).ok());
  return assembly;
}

int64_t Occurrences(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {});
}

// Rows that a tile has beyond the last one of the array.
TEST(EmitObject, SumsThatNobodyReadsAreDropped) {
  EXPECT_EQ(Occurrences(AssemblyFor(RegisterTile(8, 3), "znver4"), "vfmadd"),
            Occurrences(AssemblyFor(RegisterTile(3), "znver4"), "vfmadd"));
}

TEST(EmitObject, GathersNothingAtKnownPlaces) {
  const Buffers buffers(PrimitiveType::kF32);
  kernels::te::Var i("i");
  const auto copy = [&](const Expr& from) {
    return buffers.Function(kernels::ir::For(i, 0, 4, kernels::ir::ForKind::kSerial,
                                             kernels::ir::Store(buffers.out, {kernels::te::Ramp(i * kLanes, 1, kLanes)},
                                                                kernels::te::Load(buffers.in, {from}))));
  };
  EXPECT_EQ(Occurrences(AssemblyFor(copy(LanesOfBlock(i * 8, 8, 64)), "znver4"), "gather"), 0);
  const Expr by_data = kernels::te::Cast({PrimitiveType::kS64, kLanes},
                                         kernels::te::Load(buffers.in, {kernels::te::Ramp(i * kLanes, 1, kLanes)}));
  EXPECT_GT(Occurrences(AssemblyFor(copy(by_data), "znver4"), "gather"), 0);
}

TEST(VectorSpills, AreNoneWhileAccumulatorsFitTheRegistersAndSomeBeyond) {
  const Target target = HostTarget();
  auto fits = EmitObject(RegisterTile(4), target);  // eight registers of AVX2's sixteen
  auto spills = EmitObject(RegisterTile(48), target);
  ASSERT_TRUE(fits.ok() && spills.ok()) << fits.status() << spills.status();
  EXPECT_EQ(fits->vector_spills, 0);
  EXPECT_GT(spills->vector_spills, 0);
}

// What an access of LLVM's text is said not to meet: names of buffers, by the name of its own.
std::map<std::string, std::set<std::string>> NoAliasOf(const std::string& ir) {
  std::map<std::string, std::string> scopes;              // node -> name
  std::map<std::string, std::vector<std::string>> lists;  // node -> nodes
  std::map<std::string, std::set<std::string>> no_alias;
  std::smatch match;
  std::istringstream lines(ir);
  std::vector<std::pair<std::string, std::string>> accesses;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, std::regex(R"re(^(!\d+) = distinct !\{!\d+, !\d+, !"(.*)"\})re"))) {
      scopes[match[1]] = match[2];
    } else if (std::regex_search(line, match, std::regex(R"re(^(!\d+) = !\{(.*)\})re"))) {
      std::istringstream nodes(match[2]);
      for (std::string node; nodes >> node;) lists[match[1]].push_back(node.substr(0, node.find(',')));
    } else if (std::regex_search(line, match, std::regex(R"re(!alias\.scope (!\d+), !noalias (!\d+))re"))) {
      accesses.emplace_back(match[1], match[2]);
    }
  }
  for (const auto& [own, others] : accesses) {
    for (const std::string& other : lists[others]) no_alias[scopes[lists[own][0]]].insert(scopes[other]);
  }
  return no_alias;
}

// Siblings lie in the same bytes: first [outer, first], then [outer, second, inner], where `inner` begins inside what
// was `first`.
TEST(EmitObject, PromisesNothingOfScratchThatLiesInTheSamePlace) {
  const PrimitiveType type = PrimitiveType::kF32;
  const Buffers buffers(type);
  kernels::ir::Buffer outer = Scratch("outer", type, kLanes, kernels::ir::Scope::kThread);
  kernels::ir::Buffer first = Scratch("first", type, 8 * kLanes, kernels::ir::Scope::kThread);
  kernels::ir::Buffer second = Scratch("second", type, kLanes, kernels::ir::Scope::kThread);
  kernels::ir::Buffer inner = Scratch("inner", type, kLanes, kernels::ir::Scope::kThread);
  const auto in = [&](int64_t at) { return kernels::te::Load(buffers.in, {kernels::te::Ramp(at, 1, kLanes)}); };
  const auto store = [&](const kernels::ir::Buffer& to, int64_t at, Expr value) {
    return kernels::ir::Store(to, {kernels::te::Ramp(at, 1, kLanes)}, std::move(value));
  };
  const auto load = [](const kernels::ir::Buffer& from) { return kernels::te::Load(from, {Lane()}); };
  kernels::ir::Function function = buffers.Function(kernels::ir::Allocate(
      outer,
      kernels::ir::Seq(
          {store(outer, 0, in(0)),
           kernels::ir::Allocate(first, kernels::ir::Seq({store(first, 0, in(16)), store(first, 4 * kLanes, in(32)),
                                                          store(buffers.out, 0, load(first))})),
           kernels::ir::Allocate(
               second,
               kernels::ir::Seq({store(second, 0, in(48)),
                                 kernels::ir::Allocate(inner, kernels::ir::Seq({store(inner, 0, in(64)),
                                                                                store(buffers.out, 16, load(inner))})),
                                 store(buffers.out, 32, load(second))})),
           store(buffers.out, 48, load(outer))})));
  ExpectAsInterpreted(function, "siblings");
  std::string ir;
  CodegenOptions options;
  options.print_llvm = true;
  options.ir_text = &ir;
  ASSERT_TRUE(EmitObject(function, HostTarget(), options).ok());
  using Names = std::set<std::string>;
  const auto no_alias = NoAliasOf(ir);
  EXPECT_EQ(no_alias.at("first"), (Names{"in", "out", "outer"})) << ir;
  EXPECT_EQ(no_alias.at("second"), (Names{"in", "out", "outer", "inner"})) << ir;
  EXPECT_EQ(no_alias.at("inner"), (Names{"in", "out", "outer", "second"})) << ir;
  EXPECT_EQ(no_alias.at("in"), (Names{"out", "outer", "first", "second", "inner"})) << ir;
}

// A partial sum in scratch takes eight terms, between which an argument is read: it is stored once after all of them.
TEST(EmitObject, StoresPartialSumsOnceForSeveralTerms) {
  constexpr int kTerms = 8;
  const PrimitiveType type = PrimitiveType::kF32;
  const Buffers buffers(type);
  kernels::ir::Buffer sums = Scratch("sums", type, kSize / kTerms, kernels::ir::Scope::kThread);
  kernels::te::Var i("i");
  const Expr at = kernels::te::Ramp(i * kLanes, 1, kLanes);
  std::vector<kernels::ir::Stmt> terms;
  for (int term = 0; term < kTerms; ++term) {
    const Expr next =
        kernels::te::Load(buffers.in, {kernels::te::Ramp(i * kLanes + term * (kSize / kTerms), 1, kLanes)});
    terms.push_back(kernels::ir::Store(
        sums, {at}, kernels::te::Binary(kernels::te::BinaryOp::kAdd, kernels::te::Load(sums, {at}), next)));
  }
  const auto loop = [&](kernels::ir::Stmt body) {
    return kernels::ir::For(i, 0, kSize / kTerms / kLanes, kernels::ir::ForKind::kSerial, std::move(body));
  };
  const Expr zero = kernels::te::Splat(kernels::te::FloatConst({type, 1}, 0), kLanes);
  const kernels::ir::Function function = buffers.Function(kernels::ir::Allocate(
      sums, kernels::ir::Seq({loop(kernels::ir::Store(sums, {at}, zero)), loop(kernels::ir::Seq(terms)),
                              loop(kernels::ir::Store(buffers.out, {at}, kernels::te::Load(sums, {at})))})));
  ExpectAsInterpreted(function, "partial sums");
  Target target;
  target.name = "znver4";
  std::string assembly;
  CodegenOptions options;
  options.assembly_text = &assembly;
  ASSERT_TRUE(EmitObject(function, target, options).ok());
  const std::regex store(R"re(vmovups\s+%zmm\d+, [^%\n]*\()re");
  const auto stores = std::distance(std::sregex_iterator(assembly.begin(), assembly.end(), store), {});
  EXPECT_EQ(stores, 3) << assembly;
}

TEST(EmitObject, IsDeterministic) {
  const Target target = HostTarget();
  auto first = EmitObject(RegisterTile(12), target);
  auto second = EmitObject(RegisterTile(12), target);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->elf, second->elf);
}

TEST(EmitObject, CompilesForOtherProcessors) {
  std::string sizes;
  for (const char* cpu : {"x86-64", "haswell", "skylake-avx512", "znver4", "neoverse-n1", "apple-m1"}) {
    Target target;
    target.name = cpu;
    int registers;
    ASSERT_TRUE(DescribeVectors(cpu, "", &target.vector_bytes, &registers).ok()) << cpu;
    auto object = EmitObject(RegisterTile(8), target);
    ASSERT_TRUE(object.ok()) << cpu << ": " << object.status();
    EXPECT_EQ(object->elf.substr(0, 4),
              "\x7f"
              "ELF");
    if (std::string(cpu) == "neoverse-n1") {
      const auto described = LoadObject(*object);
      ASSERT_TRUE(described.ok()) << described.status();
      EXPECT_FALSE((*described)->is_loaded());
    }
  }
  Target unknown;
  unknown.name = "abacus-2";
  absl::Status status = EmitObject(RegisterTile(8), unknown).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("abacus-2"), std::string::npos) << status;
}

// A double becomes a float of 16 bits by way of f32 wherever it runs: AVX512-FP16 has an instruction that rounds once,
// and would give another number for what lies just beside the middle of two.
TEST(EmitObject, RoundsDoublesToHalvesTheSameOnEveryProcessor) {
  const kernels::ir::Function function =
      Elementwise({PrimitiveType::kF64}, PrimitiveType::kF16, 16, 8, [](const std::vector<Expr>& x) {
        return kernels::te::Cast({PrimitiveType::kF16, 8}, x[0]);
      });
  for (const char* cpu : {"sapphirerapids", "znver4", "haswell"}) {
    Target target;
    target.name = cpu;
    int registers;
    ASSERT_TRUE(DescribeVectors(cpu, "", &target.vector_bytes, &registers).ok()) << cpu;
    std::string assembly;
    CodegenOptions options;
    options.assembly_text = &assembly;
    ASSERT_TRUE(EmitObject(function, target, options).ok()) << cpu;
    EXPECT_NE(assembly.find("cvtpd2ps"), std::string::npos) << cpu << "\n" << assembly;
    EXPECT_EQ(assembly.find("cvtpd2ph"), std::string::npos) << cpu << "\n" << assembly;
  }
  const double values[] = {1952.5000000009313, 1953.4999999990687, 2048.9999, -1952.5000000009313};
  const double wanted[] = {1952, 1954, 2048, -1952};
  Array<char> in(16 * 8), out(16 * 2);
  for (int64_t i = 0; i < 16; ++i) kernels::te::StoreElement(PrimitiveType::kF64, in.data(), i, {0, values[i % 4]});
  const auto code = CompileForHost(function);
  ASSERT_NE(code, nullptr);
  Execute(*code, {in.data(), out.data()});
  hlo::Literal doubles(hlo::Shape::Array(PrimitiveType::kF64, {4}));
  for (int64_t i = 0; i < 4; ++i) doubles.SetDouble(i, values[i]);
  const auto module = hlo::ParseModule("ENTRY e { x = f64[4] parameter(0)  ROOT r = f16[4] convert(x) }");
  const absl::StatusOr<hlo::Literal> evaluated = hlo::Evaluate(**module, {&doubles});
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(kernels::te::LoadElement(PrimitiveType::kF16, out.data(), i).f, wanted[i % 4]);
    EXPECT_EQ(evaluated->GetDouble(i % 4), wanted[i % 4]);
  }
}

TEST(EmitObject, RefusesWhatItHasNoCodeForByName) {
  kernels::ir::Function function =
      Elementwise({PrimitiveType::kC64}, PrimitiveType::kC64, 16, 1, [](const std::vector<Expr>& x) { return x[0]; });
  absl::Status status = EmitObject(function, HostTarget()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("c64"), std::string::npos) << status;
}

TEST(EmitObject, SurvivesADeepExpression) {
  kernels::ir::Function function =
      Elementwise({PrimitiveType::kF32}, PrimitiveType::kF32, 16, 16, [](const std::vector<Expr>& x) {
        Expr sum = x[0];
        for (int i = 0; i < 5000; ++i)
          sum = kernels::te::Binary(i % 2 ? kernels::te::BinaryOp::kAdd : kernels::te::BinaryOp::kMul, sum, x[0]);
        return sum;
      });
  EXPECT_TRUE(EmitObject(function, HostTarget()).ok());
}

TEST(EmitObject, RefusesWhatWouldTakeMinutes) {
  kernels::ir::Function function =
      Elementwise({PrimitiveType::kF32}, PrimitiveType::kF32, 16, 16, [](const std::vector<Expr>& x) {
        Expr sum = x[0];
        for (int i = 0; i < 100000; ++i) {
          sum = kernels::te::Binary(i % 2 ? kernels::te::BinaryOp::kAdd : kernels::te::BinaryOp::kMul, sum, x[0]);
        }
        return sum;
      });
  const absl::Status refused = EmitObject(function, HostTarget()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  for (const char* named : {"`out` is stored", "within loop `"})
    EXPECT_NE(refused.message().find(named), std::string::npos) << refused;
}

TEST(LoadObject, RefusesWhatIsNoObject) {
  auto object = EmitObject(RegisterTile(2), HostTarget());
  ASSERT_TRUE(object.ok());
  ObjectCode broken = *object;
  broken.elf.resize(broken.elf.size() / 2);
  EXPECT_FALSE(LoadObject(broken).ok());
  broken.elf = "no object";
  EXPECT_FALSE(LoadObject(broken).ok());
  broken = *object;
  broken.descriptor.phases[0].symbol = "elsewhere";
  EXPECT_FALSE(LoadObject(broken).ok());
}

}  // namespace
}  // namespace smelt::cpu::codegen
