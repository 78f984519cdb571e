// A computation that is being made up: its values so far, what is known about each, and ways to get one that fits.
//
//   Draft draft(computation, random, palette, /*depth=*/0);
//   Value x = draft.Any(hlo::IsFloat);
//   draft.Keep(hlo::Opcode::kTanh, {draft.Bounded(x, 4)}, {}, /*exact=*/false, /*magnitude=*/1);
//
// Two engines that round in another order must not part ways over it. So two things are known of each value:
//   exact      it follows from the inputs by operations whose result no engine may round differently (integers, data
//              movement, comparison, minimum, conversion). Where a small difference would become a large one
//              (comparison, floor, sort, conversion to integers, select by such), only exact values go in:
//              Draft::Exact.
//   magnitude  a bound of its absolute value. Where an operation would amplify (division, logarithm, tangent, long
//              chains of products), Bounded and AwayFromZero put a clamp in front.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fuzz/generate/random.h"
#include "hlo/computation.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::fuzz {

// What the shapes of one module are made of, so that they meet often.
struct Palette {
  std::vector<hlo::PrimitiveType> types;
  std::vector<int64_t> sizes;  // odd ones, ones, rarely a zero
  int64_t largest = 1024;      // elements of an array
};

struct Value {
  hlo::Instruction* instruction = nullptr;
  bool exact = true;
  double magnitude = 2;
  const hlo::Shape& shape() const { return instruction->shape(); }
  hlo::PrimitiveType type() const { return instruction->shape().element_type; }
};

// The magnitude of a value of which no bound is known.
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
// The largest bound that values of this type may have without being clamped: far from where they overflow.
double MagnitudeLimit(hlo::PrimitiveType type);

// Classes of element types.
using TypeTest = bool (*)(hlo::PrimitiveType);
bool AnyElement(hlo::PrimitiveType type);
bool PredElement(hlo::PrimitiveType type);
bool IntegerElement(hlo::PrimitiveType type);
bool SignedElement(hlo::PrimitiveType type);
bool BitsElement(hlo::PrimitiveType type);   // integers and pred
bool FloatElement(hlo::PrimitiveType type);  // those with arithmetic: not the powers of two of f8e8m0fnu
bool ComplexElement(hlo::PrimitiveType type);
bool InexactElement(hlo::PrimitiveType type);  // float or complex
bool NumberElement(hlo::PrimitiveType type);   // all with arithmetic but pred
bool OrderedElement(hlo::PrimitiveType type);  // all but complex

class Draft {
 public:
  Draft(hlo::Computation& computation, Random& random, const Palette& palette, int depth)
      : random(random), palette(palette), depth(depth), computation_(computation) {}

  Random& random;
  const Palette& palette;
  const int depth;  // 0 in the entry, more in the computations that loops and branches call

  hlo::Computation& computation() { return computation_; }
  hlo::Module& module() { return *computation_.parent(); }
  const std::vector<Value>& values() const { return values_; }

  hlo::Shape AnyShape(TypeTest test, int64_t min_rank = 0, int64_t max_rank = 4);
  hlo::PrimitiveType AnyTypeOf(TypeTest test);
  int64_t AnySize() { return random.Pick(palette.sizes); }
  // From 1 to `most`, rarely 0: the size of a part, or of what is independent of the palette.
  int64_t PartSize(int64_t most) { return random.Chance(0.03) ? 0 : random.Between(1, most); }
  // Whether a list of dimensions is to be empty now, where that is legal: what few programs have, and tools forget.
  bool EmptyList() { return random.Chance(0.06); }

  // A value that exists, or, now and then and where none fits, a new one.
  Value Any(TypeTest test, int64_t min_rank = 0, int64_t max_rank = 4);
  // One with dimensions, rarely a scalar: the operand of an opcode that takes a list of dimensions.
  Value Array(TypeTest test, int64_t max_rank = 4) { return EmptyList() ? Any(test, 0, 0) : Any(test, 1, max_rank); }
  Value OfShape(const hlo::Shape& shape);
  // The same two, but exact.
  Value Exact(TypeTest test, int64_t min_rank = 0, int64_t max_rank = 4);
  Value ExactOfShape(const hlo::Shape& shape);
  // A scalar from which a loop or a branch may follow, or an index; exact.
  Value Scalar(hlo::PrimitiveType type) { return ExactOfShape(hlo::Shape::Scalar(type)); }

  Value Parameter(const hlo::Shape& shape);  // of the entry; elsewhere a constant
  Value Constant(hlo::Literal literal);
  Value Constant(hlo::PrimitiveType type, double value);
  Value RandomConstant(const hlo::Shape& shape);
  Value Splat(const hlo::Shape& shape, double value);  // a scalar constant, broadcast

  // Absolute value at most `limit` (floats, complex numbers), or at least `least`.
  Value Bounded(const Value& x, double limit);
  Value Clamped(const Value& x, double low, double high);
  Value AwayFromZero(const Value& x, double least);

  // Adds an instruction of the inferred shape, or of the given one, and takes it among the values (its elements, where
  // it is a tuple). An instruction that does not verify is a bug of the generator and ends the process.
  Value Keep(hlo::Opcode opcode, const std::vector<Value>& operands, hlo::Attributes attributes, bool exact,
             double magnitude, std::vector<hlo::Computation*> called = {});
  Value KeepShaped(hlo::Opcode opcode, hlo::Shape shape, const std::vector<Value>& operands, hlo::Attributes attributes,
                   bool exact, double magnitude, std::vector<hlo::Computation*> called = {});
  void Take(const Value& value);
  // Takes the elements of a tuple one by one.
  std::vector<Value> TakeElements(hlo::Instruction* tuple, bool exact, double magnitude);
  Value Tuple(const std::vector<Value>& elements);

  // Parameters of a called computation: what the caller knows of its arguments.
  Value AddArgument(const hlo::Shape& shape, bool exact, double magnitude);

 private:
  Value Wrap(hlo::Instruction* instruction, bool exact, double magnitude);

  hlo::Computation& computation_;
  std::vector<Value> values_;
  int64_t next_parameter_ = 0;
};

bool AllExact(const std::vector<Value>& values);
double LargestMagnitude(const std::vector<Value>& values);
std::vector<hlo::Instruction*> Instructions(const std::vector<Value>& values);

}  // namespace smelt::fuzz
