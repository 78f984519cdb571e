// Which device holds what: shardings and the device groups of collectives, kept as written.
#include <algorithm>
#include <optional>

#include "base/str_cat.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo::text {
namespace {

// [2,4] as in [2,4]<=[8]; `product` is the number of devices.
bool ReadDeviceGrid(Scanner& scanner, int64_t* rank, int64_t* product) {
  if (!scanner.Expect('[')) return false;
  *product = 1;
  *rank = 0;
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

// [4,2]T(1,0): as many devices, in another order. One dimension has no order.
bool CheckOrder(Scanner& scanner, int64_t devices) {
  scanner.SkipSpace();
  const char* at = scanner.at();
  int64_t rank, product;
  if (!ReadDeviceGrid(scanner, &rank, &product)) return false;
  if (product != devices) {
    return scanner.FailAt(at, StrCat("dimensions whose product is ", devices, ", the size of the tile assignment"),
                          StrCat(product));
  }
  if (rank == 1) return true;
  if (!scanner.Expect(std::string_view("T"))) return false;
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

bool CheckIotaOrder(Scanner& scanner, int64_t devices) {
  return scanner.Expect(std::string_view("<=")) && CheckOrder(scanner, devices);
}

// 0,1,2
bool ReadDevices(Scanner& scanner, std::vector<int64_t>* devices) {
  do {
    if (!scanner.Integer(&devices->emplace_back(), "a device number or `<=`")) return false;
  } while (scanner.Try(','));
  return true;
}

// The character, with no white space before it.
bool ExpectHere(Scanner& scanner, char c) {
  if (scanner.Here() != c) return scanner.Fail(StrCat("`", std::string_view(&c, 1), "`"));
  scanner.set_at(scanner.at() + 1);
  return true;
}

// `name=`
bool ExpectName(Scanner& scanner, std::string_view name) { return scanner.Expect(name) && ExpectHere(scanner, '='); }

struct Axis {
  std::string_view name;  // with its quotes
  int64_t size;
};

struct Mesh {
  bool maximal = false;
  std::vector<Axis> axes;
  std::string_view text;
  int64_t devices = 1;
};

// A name in quotes; axes may hold any character.
bool ReadAxisName(Scanner& scanner, std::string_view* name) {
  const char quote = scanner.Peek();
  const char* start = scanner.at();
  const char* close = quote == '\'' || quote == '"' ? std::find(start + 1, scanner.end(), quote) : scanner.end();
  if (close == scanner.end()) return scanner.Fail("the name of a mesh axis in single quotes");
  scanner.set_at(close + 1);
  *name = scanner.From(start);
  return true;
}

// mesh['a'=2,'b'=4], device_ids=(...) or maximal_mesh[device_id=1]
bool ReadMesh(Scanner& scanner, Mesh* mesh) {
  scanner.SkipSpace();
  const char* start = scanner.at();
  if (scanner.Try(std::string_view("maximal_mesh"))) {
    mesh->maximal = true;
    int64_t device;
    return scanner.Expect('[') && ExpectName(scanner, "device_id") && scanner.Integer(&device, "a device number") &&
           scanner.Expect(']');
  }
  if (!scanner.Expect(std::string_view("mesh")) || !scanner.Expect('[')) return false;
  if (!scanner.Try(']')) {
    do {
      scanner.SkipSpace();
      const char* at = scanner.at();
      Axis axis;
      if (!ReadAxisName(scanner, &axis.name) || !ExpectHere(scanner, '=') ||
          !scanner.Integer(&axis.size, "the size of a mesh axis")) {
        return false;
      }
      for (const Axis& other : mesh->axes) {
        if (other.name == axis.name) return scanner.FailAt(at, "each axis of the mesh once");
      }
      if (__builtin_mul_overflow(mesh->devices, axis.size, &mesh->devices))
        return scanner.FailAt(at, "a mesh whose number of devices fits in 64 bits");
      mesh->axes.push_back(axis);
    } while (scanner.Try(','));
    if (!scanner.Expect(']')) return false;
  }
  mesh->text = scanner.From(start);
  const char* end = scanner.at();
  if (!scanner.Try(',') || !scanner.Try(std::string_view("device_ids"))) {
    scanner.set_at(end);
    return true;
  }
  if (!ExpectHere(scanner, '=') || !scanner.Expect('(')) return false;
  if (scanner.Peek() == '[') return CheckOrder(scanner, mesh->devices) && scanner.Expect(')');
  scanner.SkipSpace();
  const char* at = scanner.at();
  std::vector<int64_t> devices;
  if (!ReadDevices(scanner, &devices)) return false;
  std::sort(devices.begin(), devices.end());
  bool each_once = static_cast<int64_t>(devices.size()) == mesh->devices;
  for (size_t i = 0; each_once && i < devices.size(); ++i) each_once = devices[i] == static_cast<int64_t>(i);
  if (!each_once)
    return scanner.FailAt(at, StrCat("each number below ", mesh->devices, " once, as the mesh has devices"));
  return scanner.Expect(')');
}

// A whole axis, or `'a':(2)4`: the part of it of size 4 behind a part of size 2.
struct AxisPart {
  std::string_view name;
  int64_t before, size;
};

bool ReadAxisPart(Scanner& scanner, const Mesh& mesh, std::vector<AxisPart>* used) {
  scanner.SkipSpace();
  const char* at = scanner.at();
  std::string_view name;
  if (!ReadAxisName(scanner, &name)) return false;
  const auto axis =
      std::find_if(mesh.axes.begin(), mesh.axes.end(), [&](const Axis& candidate) { return candidate.name == name; });
  if (axis == mesh.axes.end()) {
    return scanner.FailAt(at, "an axis of the mesh", StrCat(name, ", which is out of bounds for mesh ", mesh.text));
  }
  AxisPart part{name, 1, axis->size};
  if (scanner.Try(':')) {
    if (!scanner.Expect('(') || !scanner.Integer(&part.before, "the size of the part of the axis before this one") ||
        !scanner.Expect(')') || !scanner.Integer(&part.size, "the size of a part of the axis")) {
      return false;
    }
    int64_t end;
    if (part.before < 1 || part.size < 2 || __builtin_mul_overflow(part.before, part.size, &end) || axis->size % end) {
      return scanner.FailAt(at, StrCat("a part of ", name, ", which has ", axis->size, " devices"));
    }
  }
  for (const AxisPart& other : *used) {
    if (other.name == name && other.before < part.before * part.size && part.before < other.before * other.size)
      return scanner.FailAt(at, StrCat("each axis once, and ", name, " is used already"));
  }
  used->push_back(part);
  return true;
}

// {'a', 'b':(1)2}; with `open`, a `?` may be the last.
bool CheckAxes(Scanner& scanner, const Mesh& mesh, bool open, std::vector<AxisPart>* used) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    if (open && scanner.Try('?')) break;
    if (!ReadAxisPart(scanner, mesh, used)) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

bool CheckMetadataList(Scanner& scanner) {
  const char* start = scanner.at();
  if (scanner.Try('{') && scanner.Peek() == '{') {
    do {
      if (!CheckMetadata(scanner)) return false;
    } while (scanner.Try(','));
    return scanner.Expect('}');
  }
  scanner.set_at(start);
  return CheckMetadata(scanner);
}

// mesh['a'=2,'b'=4], [{'a'}, {}], replicated={'b'} up to the closing brace
bool CheckNamedSharding(Scanner& scanner) {
  Mesh mesh;
  if (!ReadMesh(scanner, &mesh)) return false;
  const auto metadata_only = [&] {
    return !scanner.Try(',') || (ExpectName(scanner, "metadata") && CheckMetadataList(scanner));
  };
  if (mesh.maximal) return metadata_only();
  bool more = scanner.Try(',');
  for (std::string_view whole : {"replicated", "unreduced", "manual"}) {
    const char* at = scanner.at();
    if (scanner.Try(whole) && scanner.Here() != '=') return metadata_only();
    scanner.set_at(at);
  }
  std::vector<AxisPart> used;
  if (scanner.Peek() == '[' || !more) {
    if (!scanner.Expect('[')) return false;
    if (!scanner.Try(']')) {
      do {
        if (!CheckAxes(scanner, mesh, /*open=*/true, &used)) return false;
      } while (scanner.Try(','));
      if (!scanner.Expect(']')) return false;
    }
    more = scanner.Try(',');
  }
  for (; more; more = scanner.Try(',')) {
    scanner.SkipSpace();
    const char* at = scanner.at();
    std::string_view name;
    if (!scanner.AttributeName(&name, "replicated, unreduced, manual or metadata")) return false;
    if (name == "metadata") {
      if (!CheckMetadataList(scanner)) return false;
      continue;
    }
    if (name != "replicated" && name != "unreduced" && name != "manual")
      return scanner.FailAt(at, "replicated, unreduced, manual or metadata");
    // Newer XLA says how the parts are to be reduced.
    if (name == "unreduced") {
      for (std::string_view how : {"sum", "max", "min"}) {
        if (scanner.Try(how)) break;
      }
    }
    if (!CheckAxes(scanner, mesh, /*open=*/false, &used)) return false;
  }
  return true;
}

// [2,4]<=[8] or [2,4]0,1,...
bool CheckTiles(Scanner& scanner, int64_t* rank, bool* listed) {
  int64_t devices;
  if (!ReadDeviceGrid(scanner, rank, &devices)) return false;
  *listed = scanner.Peek() != '<';
  if (!*listed) return CheckIotaOrder(scanner, devices);
  scanner.SkipSpace();
  const char* at = scanner.at();
  std::vector<int64_t> listed_devices;
  if (!ReadDevices(scanner, &listed_devices)) return false;
  const int64_t count = static_cast<int64_t>(listed_devices.size());
  if (count != devices)
    return scanner.FailAt(at, StrCat(devices, " devices, the size of the tile assignment"), StrCat(count));
  return count > 1 || scanner.FailAt(at, "more than one device, or `maximal device=`", "one");
}

// {manual, replicated}: what the last dimensions of a tile assignment are for.
bool CheckTileKinds(Scanner& scanner, int64_t* count) {
  *count = 0;
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    static constexpr std::string_view kKinds[] = {"maximal", "replicated", "manual", "unreduced"};
    int kind;
    if (!ReadEnumerator(scanner, kKinds, /*any_case=*/false, &kind)) return false;
    ++*count;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

// What stands between the braces of one sharding.
bool CheckOneSharding(Scanner& scanner) {
  scanner.SkipSpace();
  const char* start = scanner.at();
  const std::string_view left(start, scanner.end() - start);
  if (left.starts_with("mesh[") || left.starts_with("maximal_mesh")) return CheckNamedSharding(scanner);
  static constexpr std::string_view kForms = "a sharding such as replicated, maximal, manual or devices=[...]";
  static constexpr std::string_view kKinds[] = {"replicated", "maximal", "manual", "unknown", "unreduced"};
  std::optional<std::string_view> kind;
  std::optional<int64_t> rank;  // of the tile assignment
  bool one_device = false, listed = false, last_replicated = false;
  int64_t subgroups = 0;
  while (scanner.Peek() != '}') {
    const char* at = scanner.at();
    std::string_view word;
    if (!scanner.Word(&word, kForms)) return false;
    if (std::find(std::begin(kKinds), std::end(kKinds), word) != std::end(kKinds)) {
      // Where several kinds are written the first of the list counts.
      if (!kind || std::find(std::begin(kKinds), std::end(kKinds), word) <
                       std::find(std::begin(kKinds), std::end(kKinds), *kind)) {
        kind = word;
      }
      continue;
    }
    if (word == "last_tile_dim_replicate") {
      last_replicated = true;
      continue;
    }
    int64_t number;
    if (word == "shard_as" || word == "shard_like") {
      if (!scanner.Integer(&number, "a shard group")) return false;
      continue;
    }
    if (word != "device" && word != "devices" && word != "last_tile_dims" && word != "metadata")
      return scanner.FailAt(at, kForms);
    if (!ExpectHere(scanner, '=')) return false;
    if (word == "device") {
      one_device = true;
      if (!scanner.Integer(&number, "a device number")) return false;
    } else if (word == "devices") {
      if (rank) return scanner.FailAt(at, "one tile assignment");
      if (!CheckTiles(scanner, &rank.emplace(), &listed)) return false;
    } else if (!(word == "metadata" ? CheckMetadataList(scanner) : CheckTileKinds(scanner, &subgroups))) {
      return false;
    }
  }
  if (kind == "maximal") return one_device || scanner.FailAt(start, "device=N with maximal", "none");
  if (kind) return (!one_device && !listed) || scanner.FailAt(start, StrCat("no devices with ", *kind));
  if (!rank) return scanner.FailAt(start, kForms);
  if (last_replicated && subgroups > 0)
    return scanner.FailAt(start, "last_tile_dim_replicate or last_tile_dims", "both");
  return subgroups <= *rank ||
         scanner.FailAt(start, StrCat("at most ", *rank, " last_tile_dims, as there are dimensions"),
                        StrCat(subgroups));
}

}  // namespace

bool CheckSharding(Scanner& scanner) {
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
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
    if (!ReadDeviceGrid(scanner, &rank, &devices)) return false;
    if (rank != 2) return scanner.FailAt(start, "groups of two dimensions, [groups,devices]", StrCat(rank));
    if (!CheckIotaOrder(scanner, devices)) return false;
  } else {
    Mesh mesh;
    if (!ReadMesh(scanner, &mesh)) return false;
    scanner.SkipSpace();
    axes = scanner.at();
    std::vector<AxisPart> used;
    if (mesh.maximal || !CheckAxes(scanner, mesh, /*open=*/false, &used))
      return scanner.FailAt(start, "a mesh of axes");
    if (used.empty()) return scanner.FailAt(axes, "an axis of the mesh at least");
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

}  // namespace smelt::hlo::text
