// Values in braces whose parts have names, such as metadata={op_name="a" source_line=3}, and the header of a module:
// which names there are and what each holds, one line each. What is kept as written is still held to its form.
#include <algorithm>
#include <iterator>

#include "base/str_cat.h"
#include "hlo/text/attribute_codec.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::text {
namespace {

struct Part {
  std::string_view name;
  bool (*check)(Scanner&);
  bool required = false;
};

enum class Unknown : uint8_t { kKept, kRefused };  // names that no table has

bool CheckIntegers(Scanner& scanner) {
  std::vector<int64_t> values;
  return ReadIntegerList(scanner, &values);
}

const Part* Find(absl::Span<const Part> parts, std::string_view name) {
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& known) { return known.name == name; });
  return part == parts.end() ? nullptr : &*part;
}

// One `name=value`; `seen` has the names that have been there.
bool CheckPart(Scanner& scanner, absl::Span<const Part> parts, Unknown unknown, std::vector<std::string_view>* seen) {
  scanner.SkipSpace();
  const char* at = scanner.at();
  std::string_view name;
  if (!scanner.AttributeName(&name, "a name and `=`")) return false;
  const Part* part = Find(parts, name);
  if (part == nullptr && (unknown == Unknown::kRefused || IsKnownAttribute(name))) {
    std::string names;
    for (const Part& known : parts) StrAppend(&names, names.empty() ? "" : ", ", known.name);
    return scanner.FailAt(at, StrCat("one of ", names));
  }
  if (std::find(seen->begin(), seen->end(), name) != seen->end()) return scanner.FailAt(at, StrCat(name, " once"));
  seen->push_back(name);
  return part != nullptr ? part->check(scanner) : CheckAnything(scanner);
}

// {a=1 b="c", d=3}: commas are as good as spaces.
bool CheckParts(Scanner& scanner, absl::Span<const Part> parts, Unknown unknown) {
  scanner.SkipSpace();
  const char* start = scanner.at();
  if (!scanner.Expect('{')) return false;
  std::vector<std::string_view> seen;
  while (!scanner.Try('}')) {
    scanner.Try(',');
    if (!CheckPart(scanner, parts, unknown, &seen)) return false;
  }
  for (const Part& part : parts) {
    if (part.required && std::find(seen.begin(), seen.end(), part.name) == seen.end())
      return scanner.FailAt(start, StrCat("a value with ", part.name), "none");
  }
  return true;
}

bool CheckProfileTypes(Scanner& scanner) {
  constexpr int64_t kProfileTypes = 4;
  const char* at = (scanner.SkipSpace(), scanner.at());
  std::vector<int64_t> types;
  if (!ReadIntegerList(scanner, &types)) return false;
  for (int64_t type : types) {
    if (type < 0 || type >= kProfileTypes)
      return scanner.FailAt(at, StrCat("profile types below ", kProfileTypes), StrCat(type));
  }
  return true;
}

constexpr Part kMetadata[] = {
    {"op_type", CheckString},           {"op_name", CheckString},         {"source_file", CheckString},
    {"source_line", CheckInt32},        {"source_end_line", CheckInt32},  {"source_column", CheckInt32},
    {"source_end_column", CheckInt32},  {"stack_frame_id", CheckInt32},   {"profile_type", CheckProfileTypes},
    {"deduplicated_name", CheckString}, {"scheduling_name", CheckString}, {"metadata_payload", CheckString},
};

bool CheckDomainKind(Scanner& scanner) {
  const char* at = (scanner.SkipSpace(), scanner.at());
  std::string_view kind;
  return scanner.String(&kind) && (kind == "sharding" || scanner.FailAt(at, "\"sharding\", the one kind of domain"));
}

constexpr Part kDomain[] = {
    {"kind", CheckDomainKind, true},
    {"entry", CheckSharding, true},
    {"exit", CheckSharding, true},
};

constexpr Part kFileLocation[] = {
    {"file_name_id", CheckInt32, true}, {"function_name_id", CheckInt32, true}, {"line", CheckInt32, true},
    {"end_line", CheckInt32, true},     {"column", CheckInt32, true},           {"end_column", CheckInt32, true},
};

constexpr Part kStackFrame[] = {
    {"file_location_id", CheckInt32, true},
    {"parent_frame_id", CheckInt32, true},
};

bool CheckFileLocation(Scanner& scanner) { return CheckParts(scanner, kFileLocation, Unknown::kRefused); }
bool CheckStackFrame(Scanner& scanner) { return CheckParts(scanner, kStackFrame, Unknown::kRefused); }

struct NumberedTable {
  std::string_view name;
  bool (*check)(Scanner&);
};
constexpr NumberedTable kTables[] = {
    {"FileNames", CheckString},
    {"FunctionNames", CheckString},
    {"FileLocations", CheckFileLocation},
    {"StackFrames", CheckStackFrame},
};

// 2x4: so many numbers of each so many are there.
bool CheckSparsityRatio(Scanner& scanner) {
  int64_t value;
  if (scanner.Peek() == '-') return scanner.Fail("so many of how many, such as 2x4");
  if (!scanner.Integer(&value)) return false;
  if (scanner.Here() != 'x') return scanner.Fail("`x` and the size of a block");
  scanner.set_at(scanner.at() + 1);
  return scanner.Here() == '-' ? scanner.Fail("the size of a block") : scanner.Integer(&value);
}

constexpr Part kSparsity[] = {
    {"sparsity", CheckSparsityRatio},
    {"dimension", CheckInteger},
    {"stride", CheckInteger},
};

bool CheckSparsity(Scanner& scanner) { return CheckParts(scanner, kSparsity, Unknown::kRefused); }

constexpr Part kSparsityConfig[] = {{"lhs", CheckSparsity}, {"rhs", CheckSparsity}};

// {"name" {1}}: an array of the program before it was changed, or `{}`.
bool CheckOriginalArray(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Peek() == '"') {
    if (!CheckString(scanner)) return false;
    if (scanner.Peek() == '{' && !CheckIntegers(scanner)) return false;
  }
  return scanner.Expect('}');
}

// An array, or ( ... ) of such: a tuple's. The scanner stands before either.
bool CheckOriginalTree(Scanner& scanner, int depth) {
  if (depth > kNestingLimit) return scanner.Fail(StrCat("at most ", kNestingLimit, " nested tuples"));
  if (!scanner.Try('(')) return CheckOriginalArray(scanner);
  if (scanner.Try(')')) return true;
  do {
    if (!CheckOriginalTree(scanner, depth + 1)) return false;
  } while (scanner.Try(','));
  return scanner.Expect(')');
}

// {(f32[2]{0}, s32[])->f32[2]{0}}
bool CheckComputationLayout(Scanner& scanner) {
  if (!scanner.Expect('{') || !scanner.Expect('(')) return false;
  if (!scanner.Try(')')) {
    do {
      if (!CheckShape(scanner)) return false;
    } while (scanner.Try(','));
    if (!scanner.Expect(')')) return false;
  }
  return scanner.Expect(std::string_view("->")) && CheckShape(scanner) && scanner.Expect('}');
}

// {(0, {}), (1, {2})}
bool CheckBufferDonors(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    int64_t parameter;
    if (!scanner.Expect('(') || !scanner.Integer(&parameter, "the number of a parameter") || !scanner.Expect(',') ||
        !CheckIntegers(scanner) || !scanner.Expect(')')) {
      return false;
    }
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

// {{"a"} : {"b"}, "HloModule ..."}: what is gone, what stands for it, and how to compute it.
bool CheckRecoveryTable(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  while (!scanner.Try('}')) {
    if (!CheckOriginalArray(scanner) || !scanner.Expect(':') || !CheckOriginalArray(scanner)) return false;
    if (scanner.Try(',') && !CheckString(scanner)) return false;
  }
  return true;
}

constexpr Part kHeader[] = {
    {"is_scheduled", CheckBoolean},
    {"replica_count", CheckInteger},
    {"num_partitions", CheckInteger},
    {"input_output_alias", CheckAliasing},
    {"buffer_donor", CheckBufferDonors},
    {"alias_passthrough_params", CheckBoolean},
    {"entry_computation_layout", CheckComputationLayout},
    {"frontend_attributes", CheckFrontendAttributes},
    {"allow_spmd_sharding_propagation_to_parameters", CheckBooleans},
    {"allow_spmd_sharding_propagation_to_output", CheckBooleans},
    {"origin_recovery_table", CheckRecoveryTable},
    {"debug_attributes", CheckBraces},
};

constexpr Part kComputation[] = {{"execution_thread", CheckString}};

// Names that stand inside a value that has a reader of its own: windows, shardings, accuracies.
constexpr std::string_view kOtherNames[] = {"size",         "stride", "pad",       "lhs_dilate",       "rhs_dilate",
                                            "rhs_reversal", "device", "devices",   "last_tile_dims",   "atol",
                                            "rtol",         "ulps",   "tolerance", "device_id",        "device_ids",
                                            "replicated",   "manual", "unreduced", "visualizing_index"};

// `, name=value` as often as it stands there.
bool ReadList(Scanner& scanner, absl::Span<const Part> parts, std::vector<RawAttribute>* attributes) {
  std::vector<std::string_view> seen;
  while (scanner.Try(',')) {
    scanner.SkipSpace();
    const char* name = scanner.at();
    if (!CheckPart(scanner, parts, Unknown::kKept, &seen)) return false;
    Scanner value(scanner.From(name + seen.back().size() + 1), "");
    value.SkipSpace();
    attributes->push_back({std::string(seen.back()), std::string(value.at(), value.end() - value.at())});
  }
  return true;
}

}  // namespace

bool IsPartName(std::string_view name) {
  static constexpr absl::Span<const Part> kAll[] = {kMetadata, kDomain,         kFileLocation, kStackFrame,
                                                    kSparsity, kSparsityConfig, kHeader,       kComputation};
  return std::any_of(std::begin(kAll), std::end(kAll),
                     [&](absl::Span<const Part> parts) { return Find(parts, name) != nullptr; }) ||
         std::find(std::begin(kOtherNames), std::end(kOtherNames), name) != std::end(kOtherNames);
}

bool CheckMetadata(Scanner& scanner) { return CheckParts(scanner, kMetadata, Unknown::kKept); }
bool CheckDomain(Scanner& scanner) { return CheckParts(scanner, kDomain, Unknown::kRefused); }
bool CheckSparsityConfig(Scanner& scanner) { return CheckParts(scanner, kSparsityConfig, Unknown::kRefused); }

bool CheckFrontendAttributes(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    std::string_view name;
    if (!scanner.AttributeName(&name, "a name and `=`")) return false;
    if (scanner.Peek() == '{' ? !CheckBraces(scanner) : !CheckString(scanner)) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

// {visualizing_index=1,flops=2,time=0.5}
bool CheckStatistics(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  for (bool first = true;; first = false) {
    std::string_view name;
    int64_t index;
    double value;
    if (!scanner.AttributeName(&name, "a name and `=`") || !(first ? scanner.Integer(&index) : scanner.Float(&value)))
      return false;
    if (!scanner.Try(',')) return scanner.Expect('}');
  }
}

bool CheckOrigin(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  if (scanner.Try('[')) {
    return scanner.Expect(std::string_view("synthetic_call")) && scanner.Expect(']') && scanner.Expect('}');
  }
  return CheckOriginalTree(scanner, 0) && scanner.Expect('}');
}

bool ReadHeaderAttributes(Scanner& scanner, std::vector<RawAttribute>* attributes) {
  return ReadList(scanner, kHeader, attributes);
}

bool ReadComputationAttributes(Scanner& scanner, std::vector<RawAttribute>* attributes) {
  return ReadList(scanner, kComputation, attributes);
}

bool CheckHeaderValue(std::string_view name, Scanner& scanner) {
  const Part* part = Find(kHeader, name);
  return part != nullptr ? part->check(scanner) : CheckAnything(scanner);
}

bool CheckTables(Scanner& scanner) {
  if (!scanner.Try(kTables[0].name)) return true;
  for (const NumberedTable& table : kTables) {
    if (&table != kTables && !scanner.Expect(table.name)) return false;
    int64_t number;
    while (IsA(scanner.Peek(), kDigitCharacter)) {
      if (!scanner.Integer(&number) || !table.check(scanner)) return false;
    }
  }
  return true;
}

}  // namespace smelt::hlo::text
