// One decision that a kernel's schedule leaves open, and what it may be.
//
//   Knob knob = SplitKnob("i1", 56, {.most_rows = 14});
//   knob.options[3]   // "7x2x4": seven tiles of two register tiles of four rows
//   knob.values[3]    // {7, 2, 4}
//
// After AutoTVM (Chen et al., NeurIPS 2018, Section 2): splits of a loop, orders of loops, annotations, and choices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::kernels::config {

struct Knob {
  enum class Kind : uint8_t {
    kSplit,        // a loop in parts, outer first; the product may exceed the extent, and then there is a tail
    kPermutation,  // an order of loops
    kAnnotation,   // a number: how far to unroll, how many loops to share among threads
    kChoice,       // one of several ways, with no order between them
  };
  std::string name;
  Kind kind = Kind::kChoice;
  std::vector<std::string> options;          // as printed; distinct
  std::vector<std::vector<int64_t>> values;  // what each option stands for, all of one length: factors, an order of
                                             // positions, a number, the option's own number

  // Numbers that this knob gives to ConfigSpace::KnobFeatures, and those of one option.
  size_t FeatureCount() const;
  void AppendFeatures(int option, std::vector<float>* features) const;
  // The option with these values, -1 when there is none.
  int Find(const std::vector<int64_t>& wanted) const;
  // The option whose values are nearest, as sums of the differences of logarithms.
  int Nearest(const std::vector<int64_t>& wanted) const;
};

// What may become of one axis.
struct SplitLimits {
  int64_t most_rows = 1;  // largest innermost factor where vectors do not run along the axis; 0: they always do
  std::vector<int64_t> vector_widths;  // innermost factors where they do, for axes that they may run along
  bool tiles = true;                   // whether tiles may divide the axis; otherwise there is one
};
// Parts of an axis of the result: tiles x register tiles in one x elements of a register tile.
Knob SplitKnob(std::string name, int64_t extent, const SplitLimits& limits);
// Parts of a sum: blocks, each summed apart, x steps in one x steps unrolled. All of them divide the extent.
Knob SumKnob(std::string name, int64_t extent, bool blocks);
// Orders of things: all orders of up to four, some of more. Printed by name, `i1,i3,i2`; the values are positions in
// `things`.
Knob OrderKnob(std::string name, const std::vector<std::string>& things);
Knob AnnotationKnob(std::string name, std::vector<int64_t> numbers);
Knob ChoiceKnob(std::string name, std::vector<std::string> ways);

}  // namespace smelt::kernels::config
