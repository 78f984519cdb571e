#include "hlo/golden/safetensors.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/write_file.h"

namespace smelt::hlo {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kHeaderLimit = 100 << 20;  // the format's own limit

struct StorableType {
  std::string_view name;
  PrimitiveType type;
};

constexpr StorableType kStorableTypes[] = {
    {"BOOL", PrimitiveType::kPred},        {"U8", PrimitiveType::kU8},          {"I8", PrimitiveType::kS8},
    {"F8_E4M3", PrimitiveType::kF8E4M3FN}, {"F8_E5M2", PrimitiveType::kF8E5M2}, {"U16", PrimitiveType::kU16},
    {"I16", PrimitiveType::kS16},          {"F16", PrimitiveType::kF16},        {"BF16", PrimitiveType::kBF16},
    {"U32", PrimitiveType::kU32},          {"I32", PrimitiveType::kS32},        {"F32", PrimitiveType::kF32},
    {"U64", PrimitiveType::kU64},          {"I64", PrimitiveType::kS64},        {"F64", PrimitiveType::kF64},
};

const StorableType* FindType(PrimitiveType type) {
  for (const StorableType& entry : kStorableTypes) {
    if (entry.type == type) return &entry;
  }
  return nullptr;
}

const StorableType* FindType(std::string_view name) {
  for (const StorableType& entry : kStorableTypes) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// The shape that ToStorable gives to a value of this shape.
Shape StorableShape(const Shape& shape) {
  const PrimitiveType type = shape.element_type;
  if (FindType(type) != nullptr) return Shape::Array(type, shape.dimensions);
  if (IsComplex(type)) {
    Shape pair = Shape::Array(ComplexPart(type), shape.dimensions);
    pair.dimensions.push_back(2);
    return pair;
  }
  if (IsFloat(type)) return Shape::Array(PrimitiveType::kF32, shape.dimensions);
  return Shape::Array(IsSigned(type) ? PrimitiveType::kS8 : PrimitiveType::kU8, shape.dimensions);
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

absl::Status Bad(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": not a complete safetensors file: ", why));
}

bool GetInteger(const Json& json, int64_t* value) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return false;
  *value = json.get<int64_t>();
  return *value >= 0;
}

struct TensorPlace {
  std::string name;
  Shape shape;
  int64_t begin = 0;  // within the data
  int64_t end = 0;
};

// What the header says about one tensor, checked against the size of the data.
absl::StatusOr<TensorPlace> ReadPlace(const std::string& path, const std::string& name, const Json& entry,
                                      int64_t data_size) {
  auto bad = [&](const std::string& why) { return Bad(path, absl::StrCat("tensor \"", name, "\" ", why)); };
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2) {
    return bad("lacks dtype, shape or data_offsets");
  }
  const StorableType* type = FindType(std::string_view(entry["dtype"].get_ref<const std::string&>()));
  if (type == nullptr) return bad(absl::StrCat("has the unknown dtype ", entry["dtype"].get_ref<const std::string&>()));
  TensorPlace place{.name = name, .shape = Shape::Array(type->type, {})};
  for (const Json& dimension : entry["shape"]) {
    int64_t size;
    if (!GetInteger(dimension, &size)) return bad("has a dimension that is no size");
    place.shape.dimensions.push_back(size);
  }
  if (!place.shape.SizeFits()) return bad(absl::StrCat("is too large: ", place.shape.ToString()));
  if (!GetInteger(entry["data_offsets"][0], &place.begin) || !GetInteger(entry["data_offsets"][1], &place.end) ||
      place.begin > place.end) {
    return bad("has data_offsets that are no range");
  }
  if (place.end > data_size) {
    return bad(absl::StrCat("ends at byte ", place.end, " of the data, of which the file holds ", data_size));
  }
  if (place.end - place.begin != place.shape.ByteSize()) {
    return bad(absl::StrCat("has ", place.end - place.begin, " bytes, ", place.shape.ToString(), " needs ",
                            place.shape.ByteSize()));
  }
  return place;
}

}  // namespace

const Literal* SafetensorsFile::Find(std::string_view name) const {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor.literal;
  }
  return nullptr;
}

absl::StatusOr<SafetensorsFile> ReadSafetensors(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  const int64_t file_size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  File file(std::fopen(path.c_str(), "rb"));
  if (error || !file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));

  unsigned char length_bytes[kLengthBytes];
  if (file_size < kLengthBytes || std::fread(length_bytes, 1, kLengthBytes, file.get()) != kLengthBytes) {
    return Bad(path, absl::StrCat("it has ", file_size, " bytes"));
  }
  uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | length_bytes[i];
  if (length > kHeaderLimit || static_cast<int64_t>(length) > file_size - kLengthBytes) {
    return Bad(path, absl::StrCat("a header of ", length, " bytes in a file of ", file_size));
  }
  std::string header(length, '\0');
  if (std::fread(header.data(), 1, length, file.get()) != length) return Bad(path, "the header cannot be read");
  const int64_t data_start = kLengthBytes + static_cast<int64_t>(length);

  const Json json = ParseJson(header);
  if (!json.is_object()) return Bad(path, "the header is no JSON object");
  SafetensorsFile result;
  std::vector<TensorPlace> places;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return Bad(path, "__metadata__ is no JSON object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return Bad(path, absl::StrCat("metadata \"", key, "\" is no text"));
        result.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(TensorPlace place, ReadPlace(path, name, entry, file_size - data_start));
    places.push_back(std::move(place));
  }
  std::sort(places.begin(), places.end(), [](const TensorPlace& a, const TensorPlace& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  // Tensors that share bytes would let a small file ask for any amount of memory.
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].begin < places[i - 1].end) {
      return Bad(path, absl::StrCat("tensors \"", places[i - 1].name, "\" and \"", places[i].name, "\" overlap"));
    }
  }
  for (TensorPlace& place : places) {
    SMELT_ASSIGN_OR_RETURN(Literal literal, Literal::CreateUninitialized(place.shape));
    const size_t bytes = static_cast<size_t>(literal.byte_size());
    if (std::fseek(file.get(), data_start + place.begin, SEEK_SET) != 0 ||
        std::fread(literal.raw(), 1, bytes, file.get()) != bytes) {
      return Bad(path, absl::StrCat("tensor \"", place.name, "\" cannot be read"));
    }
    if (place.shape.element_type == PrimitiveType::kPred) {
      for (uint8_t& value : literal.data<uint8_t>()) value = value != 0;
    }
    result.tensors.push_back({std::move(place.name), std::move(literal)});
  }
  return result;
}

absl::Status WriteSafetensors(const std::string& path, const SafetensorsFile& file) {
  Json header = Json::object();
  for (const auto& [key, value] : file.metadata) header["__metadata__"][key] = value;
  int64_t offset = 0;
  for (const NamedTensor& tensor : file.tensors) {
    if (!tensor.literal.IsArray()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor \"", tensor.name, "\" is a ",
                                                     tensor.literal.shape().ToString(),
                                                     "; a safetensors file holds arrays only"));
    }
    const Shape shape = StorableShape(tensor.literal.shape());
    header[tensor.name] = {{"dtype", std::string(FindType(shape.element_type)->name)},
                           {"shape", shape.dimensions},
                           {"data_offsets", {offset, offset + shape.ByteSize()}}};
    offset += shape.ByteSize();
  }
  std::string text = JsonText(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data is aligned

  std::string length(kLengthBytes, '\0');
  for (int i = 0; i < kLengthBytes; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> out, NewFile::Create(path));
  SMELT_RETURN_IF_ERROR(out->Write(length));
  SMELT_RETURN_IF_ERROR(out->Write(text));
  for (const NamedTensor& tensor : file.tensors) {
    const bool direct = FindType(tensor.literal.shape().element_type) != nullptr;
    const Literal converted = direct ? Literal() : ToStorable(tensor.literal);
    const Literal& stored = direct ? tensor.literal : converted;
    SMELT_RETURN_IF_ERROR(
        out->Write({static_cast<const char*>(stored.raw()), static_cast<size_t>(stored.byte_size())}));
  }
  return out->Finish(/*durable=*/false);
}

Literal ToStorable(const Literal& literal) {
  const Shape shape = StorableShape(literal.shape());
  Literal stored(shape);
  const PrimitiveType type = literal.shape().element_type;
  if (shape.SameAs(literal.shape()) || IsComplex(type) || IsInteger(type)) {
    std::memcpy(stored.raw(), literal.raw(), stored.byte_size());  // the same bytes, seen as another type
    return stored;
  }
  for (int64_t i = 0; i < literal.element_count(); ++i) stored.SetDouble(i, literal.GetDouble(i));
  return stored;
}

absl::StatusOr<Literal> FromStorable(const Literal& stored, const Shape& shape) {
  const Shape expected = StorableShape(shape);
  if (!stored.shape().SameAs(expected)) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", expected.ToString(), " for a value of shape ",
                                                   shape.ToString(), ", found ", stored.shape().ToString()));
  }
  SMELT_ASSIGN_OR_RETURN(Literal literal, Literal::Create(Shape::Array(shape.element_type, shape.dimensions)));
  if (expected.SameAs(shape) || IsComplex(shape.element_type)) {
    std::memcpy(literal.raw(), stored.raw(), literal.byte_size());
  } else {
    for (int64_t i = 0; i < literal.element_count(); ++i) literal.SetDouble(i, stored.GetDouble(i));
  }
  return literal;
}

}  // namespace smelt::hlo
