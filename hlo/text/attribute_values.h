// Reads and prints the values of attributes: lists, windows, dimension labels, slices and paddings become values,
// others are only checked and kept as written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "hlo/attributes.h"
#include "hlo/raw_attribute.h"
#include "hlo/scanner/integer_list.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::text {

// One of the names; its index. XLA takes some of its words in capitals and in small letters alike (`any_case`).
bool ReadEnumerator(Scanner& scanner, absl::Span<const std::string_view> names, bool any_case, int* index);

// {[0:4:2], [1:3]}
bool ReadSlices(Scanner& scanner, std::vector<SliceDimension>* slices);
void AppendSlices(std::string* out, absl::Span<const SliceDimension> slices);

// 0_1_0x2_3
bool ReadPadding(Scanner& scanner, std::vector<PadDimension>* padding);
void AppendPadding(std::string* out, absl::Span<const PadDimension> padding);

// {size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}
bool ReadWindow(Scanner& scanner, Window* window);
void AppendWindow(std::string* out, const Window& window);

// b01f_01io->b01f
bool ReadDimensionLabels(Scanner& scanner, ConvolutionDimensions* dimensions);
// The labels of a custom call, where a side may have dimensions without a label, `?`.
bool ReadCustomDimensionLabels(Scanner& scanner, ConvolutionDimensions* dimensions);
void AppendDimensionLabels(std::string* out, const ConvolutionDimensions& dimensions);

// {{0,1},{2,3}}, [2,4]<=[4,2]T(1,0), mesh['a'=2,'b'=4] {'a'}; kept as written but for spaces, and `{}`, all devices, is
// empty.
bool ReadReplicaGroups(Scanner& scanner, std::string* text);

// {mode=...} or {tolerance={...}}, as XLA writes it; empty for the default.
bool ReadResultAccuracy(Scanner& scanner, std::string* text);

// "foo\"bar", without the escapes
bool ReadString(Scanner& scanner, std::string* content);
void AppendString(std::string* out, const std::string& content);

// Skips from an opening bracket behind the one that closes it. Brackets in strings do not count; those of other kinds
// need not match.
bool SkipBrackets(Scanner& scanner, char open, char close);

// Checks of values that are kept as written. Each leaves the scanner after the value.
bool CheckSharding(Scanner& scanner);
bool CheckBraces(Scanner& scanner);         // {...} with balanced braces, braces in strings aside
bool CheckBackendConfig(Scanner& scanner);  // a string or balanced braces
bool CheckString(Scanner& scanner);
bool CheckInteger(Scanner& scanner);
bool CheckInt32(Scanner& scanner);
bool CheckBoolean(Scanner& scanner);
bool CheckIntegerLists(Scanner& scanner);  // {{0,1},{1,2}}
bool CheckIntegerPairs(Scanner& scanner);  // the same, each of two
bool CheckShape(Scanner& scanner);
bool CheckShapeList(Scanner& scanner);    // {f32[2]{0}, (s32[], f32[])}
bool CheckBooleanList(Scanner& scanner);  // {true,false}
bool CheckBooleans(Scanner& scanner);     // {true,false} or true
bool CheckLiteral(Scanner& scanner);      // f32[2] {1, 2}
bool CheckWindow(Scanner& scanner);
bool CheckAliasing(Scanner& scanner);         // {{0}: (1, {}), {1}: (0, {0}, may-alias)}
bool CheckOperandAliasing(Scanner& scanner);  // {{0}: (1, {})}
bool CheckUnknownLabels(Scanner& scanner);    // ?b01f_0?1io->b01?f, whatever the letters
bool CheckCustomLabels(Scanner& scanner);     // the same, each dimension once
// The value of an attribute that is not known: strings, balanced brackets and words up to a comma, a line end or a
// closing bracket.
bool CheckAnything(Scanner& scanner);

// Checks of values whose parts have names (named_parts.cc).
bool CheckMetadata(Scanner& scanner);            // {op_name="a" source_line=3}
bool CheckDomain(Scanner& scanner);              // {kind="sharding", entry={...}, exit={...}}
bool CheckSparsityConfig(Scanner& scanner);      // {rhs={sparsity=2x4 dimension=0 stride=1}}
bool CheckFrontendAttributes(Scanner& scanner);  // {a="b",c={...}}
bool CheckStatistics(Scanner& scanner);          // {visualizing_index=1,flops=2}
bool CheckOrigin(Scanner& scanner);              // {({"x"}, {"y" {1}})} or {[synthetic_call]}
// `, name=value` as often as it stands there: the header of a module, and what follows the body of a computation.
bool ReadHeaderAttributes(Scanner& scanner, std::vector<RawAttribute>* attributes);
bool ReadComputationAttributes(Scanner& scanner, std::vector<RawAttribute>* attributes);
bool CheckHeaderValue(std::string_view name, Scanner& scanner);
// FileNames, FunctionNames, FileLocations and StackFrames: numbered lines that metadata refers to; all of them or none.
bool CheckTables(Scanner& scanner);
// Whether a part of some value has this name.
bool IsPartName(std::string_view name);

}  // namespace smelt::hlo::text
