#include "tuner/shape_variants.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "fusion/kernel_of_module.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::tuner {
namespace {

constexpr int64_t kLeastSize = 4;  // smaller ones are windows, pairs and the like
constexpr int64_t kLargestSize = 1 << 22;

// Calls `number` with each whole number of text[begin, end), in order, and appends what it returns in its place.
void CopyNumbers(const std::string& text, size_t begin, size_t end, const std::function<int64_t(int64_t)>& number,
                 std::string* out) {
  for (size_t i = begin; i < end;) {
    size_t stop = i;
    while (stop < end && absl::ascii_isdigit(text[stop])) ++stop;
    int64_t value = 0;
    if (stop > i && absl::SimpleAtoi(text.substr(i, stop - i), &value)) {
      absl::StrAppend(out, number(value));
      i = stop;
    } else {
      out->push_back(text[i++]);
    }
  }
}

// The text with the sizes of its shapes mapped, and with them those attributes that repeat sizes.
std::string MapSizes(const std::string& text, const std::function<int64_t(int64_t)>& size) {
  static constexpr const char* kLists[] = {"slice_sizes={", "slice={"};
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t begin = std::string::npos, end = std::string::npos;
    if (text[i] == '[' && i > 0 && absl::ascii_isalnum(text[i - 1])) {  // f32[64,128]
      begin = i;
      end = text.find(']', i);
    }
    for (const char* list : kLists) {
      if (begin == std::string::npos && text.compare(i, std::string(list).size(), list) == 0) {
        begin = i + std::string(list).size();
        end = text.find('}', begin);
        out.append(text, i, begin - i);
      }
    }
    if (begin == std::string::npos || end == std::string::npos) {
      out.push_back(text[i++]);
      continue;
    }
    CopyNumbers(text, begin, end, size, &out);
    i = end;
  }
  return out;
}

bool IsPrime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

int64_t OtherSize(int64_t size, std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return size / 2;
    case 1:
      return size / 4;
    case 2:
      return size * 2;
    case 3:
      return size * 4;
    case 4:
      return size + 1;
    case 5:
      return size - 1;
    case 6: {  // the power of two that is next
      int64_t power = 1;
      while (power < size) power *= 2;
      return power == size ? 2 * size : power;
    }
    default: {
      int64_t prime = size / 2 + static_cast<int64_t>(random() % static_cast<uint64_t>(size + 1));
      while (!IsPrime(prime)) ++prime;
      return prime;
    }
  }
}

}  // namespace

std::vector<fusion::Kernel> ShapeVariants(const fusion::Kernel& kernel, int64_t count, uint64_t seed) {
  constexpr int kTriesEach = 6;
  std::mt19937_64 random(seed ^ kernel.hash.low);
  const std::string text = hlo::ToText(*kernel.module, {});
  std::set<int64_t> found;
  (void)MapSizes(text, [&](int64_t size) {
    if (size >= kLeastSize) found.insert(size);
    return size;
  });
  const std::vector<int64_t> sizes(found.begin(), found.end());
  std::vector<fusion::Kernel> variants;
  if (sizes.empty()) return variants;
  std::set<Hash128> hashes{kernel.hash};
  for (int64_t i = 0; i < kTriesEach * count && static_cast<int64_t>(variants.size()) < count; ++i) {
    std::map<int64_t, int64_t> mapped;
    for (uint64_t change = 0; change <= random() % 2; ++change) {
      const int64_t size = sizes[random() % sizes.size()];
      mapped[size] = std::clamp<int64_t>(OtherSize(size, random), 1, kLargestSize);
    }
    const std::string other = MapSizes(text, [&](int64_t size) {
      const auto entry = mapped.find(size);
      return entry == mapped.end() ? size : entry->second;
    });
    const absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(other, {.file_name = "variant"});
    if (!module.ok()) continue;
    absl::StatusOr<fusion::Kernel> variant = fusion::KernelOfModule(**module);
    if (!variant.ok() || !hashes.insert(variant->hash).second) continue;
    if (fusion::CheckDistances(variant->computation(), kernel.distances).ok()) variant->distances = kernel.distances;
    variants.push_back(*std::move(variant));
  }
  return variants;
}

}  // namespace smelt::tuner
