// Checks of the attribute values that are kept as written.
#include <algorithm>

#include "hlo/literal.h"
#include "hlo/str_cat.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::text {
namespace {

// Skips from an opening bracket behind the one that closes it. Brackets in strings do not count; those of other kinds
// need not match.
bool SkipBrackets(Scanner& scanner, char open, char close, bool single_quotes = false) {
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
    } else if (c == '\'' && single_quotes) {
      while (at != scanner.end() && *at != '\'') ++at;
      if (at != scanner.end()) ++at;
    }
  }
  return scanner.FailAt(start, StrCat("a `", std::string_view(&close, 1), "` that closes this bracket"),
                        "the end of the text");
}

// [2,4] as in [2,4]<=[8]; `product` is the number of devices.
bool ReadDeviceGrid(Scanner& scanner, int64_t* rank, int64_t* product) {
  if (!scanner.Expect('[')) return false;
  *product = 1;
  *rank = 0;
  if (scanner.Try(']')) return true;
  do {
    scanner.SkipSpace();
    const char* at = scanner.at();
    int64_t size;
    if (!scanner.Integer(&size, "a number of devices")) return false;
    if (size <= 0 || __builtin_mul_overflow(*product, size, product)) {
      return scanner.FailAt(at, "a positive number of devices that fits in 64 bits");
    }
    ++*rank;
  } while (scanner.Try(','));
  return scanner.Expect(']');
}

// <=[4,2]T(1,0) behind [2,4]: the same number of devices, in another order.
bool CheckIotaOrder(Scanner& scanner, int64_t devices) {
  if (!scanner.Expect(std::string_view("<="))) return false;
  scanner.SkipSpace();
  const char* at = scanner.at();
  int64_t rank, product;
  if (!ReadDeviceGrid(scanner, &rank, &product)) return false;
  if (product != devices) {
    return scanner.FailAt(at, StrCat("dimensions whose product is ", devices, ", the size of the tile assignment"),
                          StrCat(product));
  }
  if (scanner.Here() != 'T') return true;
  scanner.set_at(scanner.at() + 1);
  at = scanner.at();
  if (!scanner.Expect('(')) return false;
  std::vector<bool> seen(rank);
  int64_t count = 0;
  do {
    int64_t dimension;
    if (!scanner.Integer(&dimension)) return false;
    if (dimension < 0 || dimension >= rank || seen[dimension]) {
      return scanner.FailAt(at, StrCat("a permutation of ", rank, " dimensions"));
    }
    seen[dimension] = true;
    ++count;
  } while (scanner.Try(','));
  if (count != rank) return scanner.FailAt(at, StrCat("a permutation of ", rank, " dimensions"));
  return scanner.Expect(')');
}

// mesh['a'=2,'b'=4]: the number of axes, and of devices.
bool CheckMesh(Scanner& scanner, int64_t* axes) {
  *axes = 0;
  if (scanner.Try(std::string_view("maximal_mesh"))) return SkipBrackets(scanner, '[', ']', true);
  if (!scanner.Expect(std::string_view("mesh")) || !scanner.Expect('[')) return false;
  if (scanner.Try(']')) return true;
  do {
    if (scanner.Peek() != '\'') return scanner.Fail("the name of a mesh axis in single quotes");
    const char* from = scanner.at() + 1;
    while (from != scanner.end() && *from != '\'') ++from;
    if (from == scanner.end()) return scanner.Fail("a closing single quote");
    scanner.set_at(from + 1);
    int64_t size;
    if (!scanner.Expect('=') || !scanner.Integer(&size, "the size of a mesh axis")) return false;
    ++*axes;
  } while (scanner.Try(','));
  return scanner.Expect(']');
}

bool CheckTileSharding(Scanner& scanner) {
  int64_t rank, devices;
  if (!ReadDeviceGrid(scanner, &rank, &devices)) return false;
  if (scanner.Peek() == '<') return CheckIotaOrder(scanner, devices);
  scanner.SkipSpace();
  const char* at = scanner.at();
  int64_t count = 0;
  do {
    int64_t device;
    if (!scanner.Integer(&device, "a device number or `<=`")) return false;
    ++count;
  } while (scanner.Try(','));
  if (count != devices) {
    return scanner.FailAt(at, StrCat(devices, " devices, the size of the tile assignment"), StrCat(count));
  }
  return true;
}

bool CheckOneSharding(Scanner& scanner) {
  scanner.SkipSpace();
  const std::string_view left(scanner.at(), scanner.end() - scanner.at());
  if (scanner.Here() == 'm' && (left.starts_with("mesh[") || left.starts_with("maximal_mesh"))) {
    int64_t axes;
    if (!CheckMesh(scanner, &axes)) return false;
    while (scanner.Try(',')) {
      if (scanner.Peek() == '[') {
        if (!SkipBrackets(scanner, '[', ']', true)) return false;
        continue;
      }
      std::string_view word;
      if (!scanner.Word(&word, "device_ids, replicated, unreduced, manual, metadata or the axes of each dimension"))
        return false;
      if (!scanner.Try('=')) continue;
      scanner.TryWord();  // unreduced=max{...}
      const char c = scanner.Peek();
      if (c != '{' && c != '(') return scanner.Fail("`{` or `(`");
      if (!SkipBrackets(scanner, c, c == '{' ? '}' : ')', true)) return false;
    }
    return true;
  }
  static constexpr std::string_view kFlags[] = {"replicated", "manual",  "unknown",
                                                "unreduced",  "maximal", "last_tile_dim_replicate"};
  for (;;) {
    if (scanner.Peek() == '}') return true;
    const char* at = scanner.at();
    std::string_view word;
    if (!scanner.Word(&word, "a sharding such as replicated, maximal, manual or devices=[...]")) return false;
    if (std::find(std::begin(kFlags), std::end(kFlags), word) != std::end(kFlags)) continue;
    if (word == "shard_as" || word == "shard_like") {
      int64_t group;
      if (!scanner.Integer(&group, "a shard group")) return false;
      continue;
    }
    if (word != "device" && word != "devices" && word != "last_tile_dims" && word != "metadata") {
      return scanner.FailAt(at, "a sharding such as replicated, maximal, manual or devices=[...]");
    }
    if (!scanner.Expect('=')) return false;
    if (word == "device") {
      int64_t device;
      if (!scanner.Integer(&device, "a device number")) return false;
    } else if (word == "devices") {
      if (!CheckTileSharding(scanner)) return false;
    } else if (!SkipBrackets(scanner, '{', '}')) {
      return false;
    }
  }
}

bool CheckShapeIndex(Scanner& scanner) {
  std::vector<int64_t> index;
  return ReadIntegerList(scanner, &index);
}

}  // namespace

bool CheckSharding(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Peek() != '{') return CheckOneSharding(scanner) && scanner.Expect('}');
  do {
    if (!scanner.Expect('{') || !CheckOneSharding(scanner) || !scanner.Expect('}')) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

// Spaces mean nothing outside of names, which hold any character; XLA puts one between a mesh and its axes.
bool ReadReplicaGroups(Scanner& scanner, std::string* text) {
  const char c = scanner.Peek();
  const char* start = scanner.at();
  const char* axes = nullptr;  // their brace
  if (c == '{') {
    if (!CheckIntegerLists(scanner)) return false;
  } else if (c == '[') {
    int64_t rank, devices;
    if (!ReadDeviceGrid(scanner, &rank, &devices) || !CheckIotaOrder(scanner, devices)) return false;
  } else {
    int64_t dimensions;
    if (!CheckMesh(scanner, &dimensions)) return false;
    if (scanner.Try(',')) {  // device_ids=(...)
      if (!scanner.Expect(std::string_view("device_ids")) || !scanner.Expect('=') || !SkipBrackets(scanner, '(', ')')) {
        return false;
      }
    }
    scanner.SkipSpace();
    axes = scanner.at();
    if (!SkipBrackets(scanner, '{', '}', true)) return false;
    // Axes are named by the mesh; a bare number is an index that must be one of its axes.
    Scanner names(std::string_view(start, scanner.at() - start), "");
    names.set_at(axes + 1);
    const std::string_view mesh(start, axes - start);
    while (names.Peek() == '\'') {
      const char* name = names.at();
      const char* close = name + 1;
      while (close != names.end() && *close != '\'') ++close;
      const std::string_view quoted(name, close - name + 1);
      if (mesh.find(quoted) == std::string_view::npos) {
        return scanner.FailAt(name, "an axis of the mesh", StrCat(quoted, ", which is out of bounds for mesh ", mesh));
      }
      names.set_at(close + 1);
      if (names.Try(':')) {
        if (!SkipBrackets(names, '(', ')')) break;
        int64_t size;
        if (!names.TryInteger(&size)) break;
      }
      if (!names.Try(',')) break;
    }
  }
  text->clear();
  bool in_name = false;
  for (const char* at = start; at != scanner.at(); ++at) {
    if (at == axes) *text += ' ';
    if (*at == '\'') in_name = !in_name;
    if (in_name || !(*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) *text += *at;
  }
  if (*text == "{}") text->clear();
  return true;
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

bool CheckWord(Scanner& scanner) {
  std::string_view word;
  return scanner.Word(&word, "a word");
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
  if (!scanner.Try('{')) return CheckBoolean(scanner);
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

bool CheckApiVersion(Scanner& scanner) {
  const char* at = (scanner.SkipSpace(), scanner.at());
  const std::string_view word = scanner.TryWord();
  if (word.starts_with("API_VERSION_") && word != "API_VERSION_UNSPECIFIED") return true;
  return scanner.FailAt(at, "an API version such as API_VERSION_TYPED_FFI");
}

bool CheckAliasing(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    int64_t parameter;
    if (!CheckShapeIndex(scanner) || !scanner.Expect(':') || !scanner.Expect('(') || !scanner.Integer(&parameter) ||
        !scanner.Expect(',') || !CheckShapeIndex(scanner)) {
      return false;
    }
    if (scanner.Try(',')) {
      const char* at = (scanner.SkipSpace(), scanner.at());
      const std::string_view kind = scanner.TryWord();
      if (kind != "may-alias" && kind != "must-alias") return scanner.FailAt(at, "may-alias or must-alias");
    }
    if (!scanner.Expect(')')) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
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
