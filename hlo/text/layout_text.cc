#include "hlo/text/layout_text.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/str_cat.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::text {
namespace {

constexpr std::string_view kDimensionLevels = "DCSH";

// T(8,128)(2,1): one group for each level of tiling.
bool ParseTiles(Scanner& scanner, Layout* layout) {
  if (scanner.Peek() != '(') return scanner.Fail("`(` and the sizes of a tile");
  while (scanner.Peek() == '(') {
    scanner.Expect('(');
    std::vector<int64_t>& tile = layout->tiles.emplace_back();
    do {
      int64_t size = INT64_MIN;  // `*`: the dimension is combined with the next
      const char* at = (scanner.SkipSpace(), scanner.at());
      if (!scanner.Try('*')) {
        if (!scanner.Integer(&size, "the size of a tile or `*`")) return false;
        if (size < 0) return scanner.FailAt(at, "the size of a tile or `*`");
      }
      tile.push_back(size);
    } while (scanner.Try(','));
    if (!scanner.Expect(')')) return false;
  }
  return true;
}

// D(D,C+~): a level for each dimension; `+` is not unique, `~` not ordered.
bool ParseLevels(Scanner& scanner, std::string* kept) {
  StrAppend(kept, "D(");
  if (!scanner.Expect('(')) return false;
  do {
    const char level = scanner.Peek();
    if (level == '\0' || kDimensionLevels.find(level) == std::string_view::npos)
      return scanner.Fail("one of the levels D, C, S, H");
    scanner.set_at(scanner.at() + 1);
    StrAppend(kept, kept->back() == '(' ? "" : ",", std::string_view(&level, 1));
    if (scanner.Try('+')) kept->push_back('+');
    if (scanner.Try('~')) kept->push_back('~');
  } while (scanner.Try(','));
  kept->push_back(')');
  return scanner.Expect(')');
}

// SC(1:50,200)(0:3): where dimensions are cut.
bool ParseSplits(Scanner& scanner, std::string* kept) {
  StrAppend(kept, "SC");
  if (scanner.Peek() != '(') return scanner.Fail("`(` and a dimension");
  while (scanner.Try('(')) {
    int64_t value;
    if (!scanner.Integer(&value, "the number of a dimension") || !scanner.Expect(':')) return false;
    StrAppend(kept, "(", value, ":");
    do {
      if (!scanner.Integer(&value, "where the dimension is cut")) return false;
      StrAppend(kept, kept->back() == ':' ? "" : ",", value);
    } while (scanner.Try(','));
    kept->push_back(')');
    if (!scanner.Expect(')')) return false;
  }
  return true;
}

// #(u32): the type of indices or of pointers.
bool ParseLayoutType(Scanner& scanner, std::string_view key, std::string* kept) {
  if (!scanner.Expect('(')) return false;
  scanner.SkipSpace();
  const char* start = scanner.at();
  const std::string_view type = scanner.TryWord();
  if (!PrimitiveTypeFromName(type)) return scanner.FailAt(start, "a type such as u32");
  StrAppend(kept, key, "(", type, ")");
  return scanner.Expect(')');
}

// L(4): a number that XLA leaves out where it is usual.
bool ParseLayoutNumber(Scanner& scanner, std::string_view key, int64_t usual, std::string* kept) {
  int64_t value;
  if (!scanner.Expect('(') || !scanner.Integer(&value) || !scanner.Expect(')')) return false;
  if (value != usual) StrAppend(kept, key, "(", value, ")");
  return true;
}

bool ParseInteger(Scanner& scanner, int64_t* value) {
  return scanner.Expect('(') && scanner.Integer(value) && scanner.Expect(')');
}

// The parts of a layout after the colon, in XLA's order. What no rule of ours asks is kept as XLA prints it
// (Layout::rest).
enum class LayoutPart {
  kLevels,
  kTiles,
  kPadding,
  kIndexType,
  kPointerType,
  kElementSize,
  kMemorySpace,
  kSplits,
  kPrefix
};
struct LayoutPartKey {
  std::string_view key;
  LayoutPart part;
};
constexpr LayoutPartKey kLayoutParts[] = {
    {"D", LayoutPart::kLevels},    {"T", LayoutPart::kTiles},       {"L", LayoutPart::kPadding},
    {"#", LayoutPart::kIndexType}, {"*", LayoutPart::kPointerType}, {"E", LayoutPart::kElementSize},
    {"SC", LayoutPart::kSplits},   {"S", LayoutPart::kMemorySpace}, {"M", LayoutPart::kPrefix},
};

bool ParseLayoutPart(Scanner& scanner, const LayoutPartKey& part, Layout* layout) {
  switch (part.part) {
    case LayoutPart::kLevels:
      return ParseLevels(scanner, &layout->rest);
    case LayoutPart::kTiles:
      return ParseTiles(scanner, layout);
    case LayoutPart::kPadding:
      return ParseLayoutNumber(scanner, part.key, 1, &layout->rest);
    case LayoutPart::kIndexType:
    case LayoutPart::kPointerType:
      return ParseLayoutType(scanner, part.key, &layout->rest);
    case LayoutPart::kElementSize:
      return ParseInteger(scanner, &layout->element_size_in_bits);
    case LayoutPart::kMemorySpace:
      return ParseInteger(scanner, &layout->memory_space);
    case LayoutPart::kSplits:
      return ParseSplits(scanner, &layout->rest);
    case LayoutPart::kPrefix:
      return ParseLayoutNumber(scanner, part.key, 0, &layout->rest);
  }
  return false;
}

bool ParseLayoutParts(Scanner& scanner, Layout* layout) {
  std::optional<LayoutPart> last;
  while (scanner.Peek() != '}') {
    const char* start = scanner.at();
    const std::string_view left(start, scanner.end() - start);
    const auto* part = std::find_if(std::begin(kLayoutParts), std::end(kLayoutParts),
                                    [&](const LayoutPartKey& candidate) { return left.starts_with(candidate.key); });
    if (left.starts_with("P("))
      return scanner.Fail("no physical shape: only sparse arrays have one, and HLO has no type for them");
    if (part == std::end(kLayoutParts) || (last && part->part <= *last))
      return scanner.Fail("`}` or one of the layout parts D, T, L, #, *, E, S, SC, M, in this order");
    scanner.set_at(start + part->key.size());
    if (!ParseLayoutPart(scanner, *part, layout)) return false;
    last = part->part;
  }
  return true;
}

}  // namespace

bool ParseLayout(Scanner& scanner, Shape* shape) {
  // `{` opens a layout only before a number or a colon: `f32[] {` may be the start of a body.
  if (scanner.Here() != '{') return true;
  const char* brace = scanner.at();
  scanner.set_at(brace + 1);
  const char next = scanner.Peek();
  if (!IsA(next, kDigitCharacter) && next != '-' && next != ':') {
    scanner.set_at(brace);
    return true;
  }
  Layout& layout = shape->layout.emplace();
  if (next != ':') {
    layout.minor_to_major.reserve(shape->dimensions.size());
    do {
      int64_t dimension;
      if (!scanner.Integer(&dimension, "the number of a dimension")) return false;
      layout.minor_to_major.push_back(dimension);
    } while (scanner.Try(','));
  }
  if (scanner.verifies() && !layout.OrdersDimensions(shape->rank())) {
    return scanner.FailAt(brace + 1, StrCat("each of the ", shape->rank(), " dimensions once in the layout"),
                          std::string_view(brace, scanner.at() - brace));
  }
  if (scanner.Try(':') && !ParseLayoutParts(scanner, &layout)) return false;
  return scanner.Expect('}');
}

}  // namespace smelt::hlo::text
