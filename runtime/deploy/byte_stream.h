// Fields of a file, one after the other: little-endian numbers of eight bytes, and texts and lists with their length
// before them.
//
//   ByteWriter writer;
//   writer.Add(int64_t{3});
//   ByteReader reader(writer.bytes());
//   int64_t three = 0;
//   const bool whole = reader.Read(&three);   // false: the bytes end too early
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::runtime::deploy {

static_assert(std::endian::native == std::endian::little);

class ByteWriter {
 public:
  void Add(int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void Add(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }
  void Add(const std::vector<int64_t>& values) {
    Add(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) Add(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// `bytes` must outlive it. Every Read says whether there was enough; what it was to fill is then undefined.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool Read(int64_t* value) {
    if (bytes_.size() < sizeof(*value)) return false;
    std::memcpy(value, bytes_.data(), sizeof(*value));
    bytes_.remove_prefix(sizeof(*value));
    return true;
  }
  bool Read(std::string* text) {
    int64_t size;
    if (!Read(&size) || size < 0 || static_cast<uint64_t>(size) > bytes_.size()) return false;
    text->assign(bytes_.substr(0, static_cast<size_t>(size)));
    bytes_.remove_prefix(static_cast<size_t>(size));
    return true;
  }
  // A number of things that take at least eight bytes each: never more than the bytes that are left can hold.
  bool ReadCount(int64_t* count) {
    return Read(count) && *count >= 0 && static_cast<uint64_t>(*count) <= bytes_.size() / sizeof(int64_t);
  }
  bool Read(std::vector<int64_t>* values) {
    int64_t count;
    if (!ReadCount(&count)) return false;
    values->resize(static_cast<size_t>(count));
    for (int64_t& value : *values) {
      if (!Read(&value)) return false;
    }
    return true;
  }
  bool done() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

}  // namespace smelt::runtime::deploy
