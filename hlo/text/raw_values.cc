// Checks of the attribute values that are kept as written.
#include <algorithm>

#include "base/str_cat.h"
#include "hlo/literal.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::text {
namespace {

bool CheckShapeIndex(Scanner& scanner) {
  std::vector<int64_t> index;
  return ReadIntegerList(scanner, &index);
}

bool CheckAliases(Scanner& scanner, bool with_kind) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    int64_t number;
    if (!CheckShapeIndex(scanner) || !scanner.Expect(':') || !scanner.Expect('(') ||
        !scanner.Integer(&number, with_kind ? "the number of a parameter" : "the number of an operand") ||
        !scanner.Expect(',') || !CheckShapeIndex(scanner)) {
      return false;
    }
    if (with_kind && scanner.Try(',')) {
      static constexpr std::string_view kKinds[] = {"may-alias", "must-alias"};
      int kind;
      if (!ReadEnumerator(scanner, kKinds, /*any_case=*/false, &kind)) return false;
    }
    if (!scanner.Expect(')')) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

}  // namespace

bool SkipBrackets(Scanner& scanner, char open, char close) {
  const char* start = scanner.at();
  if (!scanner.Expect(open)) return false;
  int64_t depth = 1;
  const char* at = scanner.at();
  while (at != scanner.end()) {
    const char c = *at;
    if (c == '"') {
      scanner.set_at(at);
      std::string_view content;
      if (!scanner.String(&content)) return false;
      at = scanner.at();
      continue;
    }
    ++at;
    if (c == open) {
      ++depth;
    } else if (c == close) {
      if (--depth == 0) {
        scanner.set_at(at);
        return true;
      }
    }
  }
  return scanner.FailAt(start, StrCat("a `", std::string_view(&close, 1), "` that closes this bracket"),
                        "the end of the text");
}

bool CheckBraces(Scanner& scanner) {
  scanner.SkipSpace();
  return SkipBrackets(scanner, '{', '}');
}

bool CheckBackendConfig(Scanner& scanner) {
  if (scanner.Peek() == '{') return SkipBrackets(scanner, '{', '}');
  return CheckString(scanner);
}

bool CheckString(Scanner& scanner) {
  std::string_view content;
  return scanner.String(&content);
}

bool CheckInteger(Scanner& scanner) {
  int64_t value;
  return scanner.Integer(&value);
}

bool CheckBoolean(Scanner& scanner) {
  bool value;
  return scanner.Boolean(&value);
}

bool CheckInt32(Scanner& scanner) {
  const char* at = (scanner.SkipSpace(), scanner.at());
  int64_t value;
  if (!scanner.Integer(&value)) return false;
  return value == static_cast<int32_t>(value) || scanner.FailAt(at, "an integer of at most 32 bits");
}

bool CheckIntegerLists(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    std::vector<int64_t> list;
    if (!ReadIntegerList(scanner, &list)) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

bool CheckIntegerPairs(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    const char* at = (scanner.SkipSpace(), scanner.at());
    std::vector<int64_t> pair;
    if (!ReadIntegerList(scanner, &pair)) return false;
    if (pair.size() != 2) return scanner.FailAt(at, "a pair such as {0,1}", StrCat(pair.size(), " numbers"));
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

bool CheckShape(Scanner& scanner) {
  Shape shape;
  return ParseShape(scanner, &shape);
}

bool CheckShapeList(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    if (!CheckShape(scanner)) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

bool CheckBooleans(Scanner& scanner) {
  return scanner.Peek() == '{' ? CheckBooleanList(scanner) : CheckBoolean(scanner);
}

bool CheckBooleanList(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    if (!CheckBoolean(scanner)) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

bool CheckLiteral(Scanner& scanner) {
  const char* start = (scanner.SkipSpace(), scanner.at());
  // A tuple's elements each say their shape: ( s32[2]{0} {1, 2}, pred[] 1 ).
  if (scanner.Try('(')) {
    if (scanner.Try(')')) return true;
    do {
      if (scanner.at() - start > (1 << 20)) return scanner.Fail("a literal of less than a megabyte");
      if (scanner.Peek() == '(') {
        scanner.set_at(start);
        return SkipBrackets(scanner, '(', ')');
      }
      if (!CheckLiteral(scanner)) return false;
    } while (scanner.Try(','));
    return scanner.Expect(')');
  }
  Shape shape;
  if (!ParseShape(scanner, &shape)) return false;
  ConstantFill values;
  Literal literal;
  bool elided = false;
  return ParseLiteral(scanner, shape, values, &literal, &elided);
}

bool CheckWindow(Scanner& scanner) {
  Window window;
  return ReadWindow(scanner, &window);
}

bool CheckAliasing(Scanner& scanner) { return CheckAliases(scanner, /*with_kind=*/true); }
bool CheckOperandAliasing(Scanner& scanner) { return CheckAliases(scanner, /*with_kind=*/false); }

bool CheckCustomLabels(Scanner& scanner) {
  ConvolutionDimensions dimensions;
  const char* start = (scanner.SkipSpace(), scanner.at());
  if (!ReadCustomDimensionLabels(scanner, &dimensions)) return false;
  return (dimensions.input_spatial.size() == dimensions.kernel_spatial.size() &&
          dimensions.input_spatial.size() == dimensions.output_spatial.size()) ||
         scanner.FailAt(start, "dimension labels with the same number of spatial dimensions on each side");
}

bool CheckUnknownLabels(Scanner& scanner) {
  const auto side = [&] {
    const char* from = scanner.at();
    while (scanner.Here() == '?' ||
           (IsA(scanner.Here(), kWordCharacter) && scanner.Here() != '_' && scanner.Here() != '-')) {
      scanner.set_at(scanner.at() + 1);
    }
    return scanner.at() != from;
  };
  scanner.SkipSpace();
  if (!side() || scanner.Here() != '_') return scanner.Fail("dimension labels such as b01f_01io->b01f");
  scanner.set_at(scanner.at() + 1);
  if (!side() || !scanner.Expect(std::string_view("->")) || !side()) {
    return scanner.Fail("dimension labels such as b01f_01io->b01f");
  }
  return true;
}

bool CheckAnything(Scanner& scanner) {
  const char* start = (scanner.SkipSpace(), scanner.at());
  const auto at_value = [](char c) { return c == '{' || c == '[' || c == '(' || c == '"' || c == '<'; };
  for (;;) {
    const char c = scanner.Here();
    if (c == '"') {
      if (!CheckString(scanner)) return false;
    } else if (c == '{' || c == '[' || c == '(') {
      if (!SkipBrackets(scanner, c, c == '{' ? '}' : c == '[' ? ']' : ')')) return false;
    } else if (c == ' ' || c == '\t') {
      // A value may have parts, such as `mesh[...] {...}`; anything else behind a space is the next line's.
      const char* space = scanner.at();
      while (scanner.Here() == ' ' || scanner.Here() == '\t') scanner.set_at(scanner.at() + 1);
      if (!at_value(scanner.Here())) {
        scanner.set_at(space);
        break;
      }
    } else if (c == '\0' || c == ',' || c == '}' || c == ')' || c == ']' || IsA(c, kSpaceCharacter)) {
      break;
    } else {
      scanner.set_at(scanner.at() + 1);
    }
  }
  return scanner.at() != start || scanner.Fail("a value");
}

}  // namespace smelt::hlo::text
