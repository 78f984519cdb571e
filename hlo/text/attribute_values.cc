#include "hlo/text/attribute_values.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "base/str_cat.h"

namespace smelt::hlo::text {
namespace {

// 3x-1x0: integers joined by `x`. The scanner's words would swallow the `x`.
bool ReadTimesList(Scanner& scanner, std::vector<int64_t>* values) {
  scanner.SkipSpace();
  const char* const first = scanner.at();
  do {
    const char* const at = scanner.at();
    if (!scanner.Integer(&values->emplace_back())) return false;
    const bool more = scanner.Here() == 'x';
    // XLA's reader takes a sign for the beginning of an integer alone.
    if (values->back() < 0 && (more || at != first)) return scanner.FailAt(at, "a number of 0 or more in such a list");
    if (!more) return true;
    scanner.set_at(scanner.at() + 1);
  } while (true);
}

std::string JoinNames(absl::Span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names) StrAppend(&text, text.empty() ? "" : ", ", name);
  return text;
}

// 1_1x0_-1, each with `fewest` to `most` numbers.
bool ReadUnderscoreLists(Scanner& scanner, size_t fewest, size_t most, std::vector<std::vector<int64_t>>* lists) {
  do {
    std::vector<int64_t>& list = lists->emplace_back();
    const char* at = scanner.at();
    for (;;) {
      if (!scanner.Integer(&list.emplace_back())) return false;
      if (scanner.Here() != '_') break;
      scanner.set_at(scanner.at() + 1);
    }
    if (list.size() < fewest || list.size() > most) {
      const std::string_view form = most == 2 ? "a low and a high padding separated by `_`"
                                              : "a low, a high and perhaps an interior padding separated by `_`";
      return scanner.FailAt(at, form, StrCat(list.size(), " numbers"));
    }
    if (scanner.Here() != 'x') return true;
    scanner.set_at(scanner.at() + 1);
  } while (true);
}

}  // namespace

bool ReadEnumerator(Scanner& scanner, absl::Span<const std::string_view> names, bool any_case, int* index) {
  scanner.SkipSpace();
  const char* at = scanner.at();
  const std::string_view word = scanner.TryWord();
  const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
    return any_case ? absl::EqualsIgnoreCase(absl::string_view(name.data(), name.size()),
                                             absl::string_view(word.data(), word.size()))
                    : name == word;
  });
  if (found == names.end()) return scanner.FailAt(at, StrCat("one of ", JoinNames(names)));
  *index = static_cast<int>(found - names.begin());
  return true;
}

bool ReadSlices(Scanner& scanner, std::vector<SliceDimension>* slices) {
  slices->clear();
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    SliceDimension& slice = slices->emplace_back();
    if (!scanner.Expect('[') || !scanner.Integer(&slice.start) || !scanner.Expect(':') ||
        !scanner.Integer(&slice.limit)) {
      return false;
    }
    if (scanner.Try(':') && !scanner.Integer(&slice.stride)) return false;
    if (!scanner.Expect(']')) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

void AppendSlices(std::string* out, absl::Span<const SliceDimension> slices) {
  *out += '{';
  for (size_t i = 0; i < slices.size(); ++i) {
    StrAppend(out, i > 0 ? ", [" : "[", slices[i].start, ":", slices[i].limit);
    if (slices[i].stride != 1) StrAppend(out, ":", slices[i].stride);
    *out += ']';
  }
  *out += '}';
}

bool ReadPadding(Scanner& scanner, std::vector<PadDimension>* padding) {
  padding->clear();
  scanner.SkipSpace();
  // The padding of a scalar has no dimensions and no text.
  if (!IsA(scanner.Here(), kDigitCharacter) && scanner.Here() != '-') return true;
  std::vector<std::vector<int64_t>> lists;
  if (!ReadUnderscoreLists(scanner, 2, 3, &lists)) return false;
  for (const std::vector<int64_t>& list : lists) padding->push_back({list[0], list[1], list.size() == 3 ? list[2] : 0});
  return true;
}

void AppendPadding(std::string* out, absl::Span<const PadDimension> padding) {
  const bool interior =
      std::any_of(padding.begin(), padding.end(), [](const PadDimension& p) { return p.interior != 0; });
  for (size_t i = 0; i < padding.size(); ++i) {
    StrAppend(out, i > 0 ? "x" : "", padding[i].low, "_", padding[i].high);
    if (interior) StrAppend(out, "_", padding[i].interior);
  }
}

bool ReadWindow(Scanner& scanner, Window* window) {
  if (!scanner.Expect('{')) return false;
  scanner.SkipSpace();
  const char* start = scanner.at();
  std::vector<int64_t> size;
  struct Field {
    std::string_view name;
    std::vector<int64_t> values;
    int64_t WindowDimension::*member;
    bool given = false;
  };
  Field fields[] = {{"stride", {}, &WindowDimension::stride},
                    {"lhs_dilate", {}, &WindowDimension::base_dilation},
                    {"rhs_dilate", {}, &WindowDimension::window_dilation},
                    {"rhs_reversal", {}, nullptr}};
  std::vector<std::vector<int64_t>> padding;
  bool has_size = false, has_padding = false;
  while (!scanner.Try('}')) {
    scanner.SkipSpace();
    const char* at = scanner.at();
    std::string_view name;
    if (!scanner.AttributeName(&name, "size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal or `}`")) return false;
    if (name == "size") {
      if (has_size) return scanner.FailAt(at, "each part of a window once");
      has_size = true;
      if (!ReadTimesList(scanner, &size)) return false;
    } else if (name == "pad") {
      if (has_padding) return scanner.FailAt(at, "each part of a window once");
      has_padding = true;
      if (!ReadUnderscoreLists(scanner, 2, 2, &padding)) return false;
    } else {
      Field* field = std::find_if(std::begin(fields), std::end(fields), [&](const Field& f) { return f.name == name; });
      if (field == std::end(fields)) {
        return scanner.FailAt(at, "size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal or `}`");
      }
      if (field->given) return scanner.FailAt(at, "each part of a window once");
      field->given = true;
      if (!ReadTimesList(scanner, &field->values)) return false;
    }
  }
  if (!has_size && start[0] != '}') return scanner.FailAt(start, "a window with a size");
  const size_t rank = size.size();
  if (has_padding && padding.size() != rank) {
    return scanner.FailAt(start, StrCat("pad of ", rank, " dimensions, as size has"),
                          StrCat(padding.size(), " dimensions"));
  }
  for (const Field& field : fields) {
    if (field.given && field.values.size() != rank) {
      return scanner.FailAt(start, StrCat(field.name, " of ", rank, " dimensions, as size has"),
                            StrCat(field.values.size(), " dimensions"));
    }
  }
  window->dimensions.assign(rank, {});
  for (size_t i = 0; i < rank; ++i) {
    WindowDimension& dimension = window->dimensions[i];
    dimension.size = size[i];
    if (has_padding) {
      dimension.padding_low = padding[i][0];
      dimension.padding_high = padding[i][1];
    }
    for (const Field& field : fields) {
      if (!field.given) continue;
      if (field.member != nullptr) {
        dimension.*field.member = field.values[i];
      } else {
        dimension.reversal = field.values[i] != 0;
      }
    }
  }
  return true;
}

void AppendWindow(std::string* out, const Window& window) {
  const auto append = [&](std::string_view name, bool needed, auto&& value) {
    if (!needed) return;
    if (out->back() != '{') *out += ' ';
    StrAppend(out, name, "=", absl::StrJoin(window.dimensions, "x", [&](std::string* text, const WindowDimension& d) {
                StrAppend(text, value(d));
              }));
  };
  const auto any = [&](auto&& differs) {
    return std::any_of(window.dimensions.begin(), window.dimensions.end(), differs);
  };
  using D = WindowDimension;
  *out += '{';
  append("size", !window.dimensions.empty(), [](const D& d) { return d.size; });
  append("stride", any([](const D& d) { return d.stride != 1; }), [](const D& d) { return d.stride; });
  append("pad", any([](const D& d) { return d.padding_low != 0 || d.padding_high != 0; }),
         [](const D& d) { return StrCat(d.padding_low, "_", d.padding_high); });
  append("lhs_dilate", any([](const D& d) { return d.base_dilation != 1; }),
         [](const D& d) { return d.base_dilation; });
  append("rhs_dilate", any([](const D& d) { return d.window_dilation != 1; }),
         [](const D& d) { return d.window_dilation; });
  append("rhs_reversal", any([](const D& d) { return d.reversal; }), [](const D& d) { return d.reversal ? 1 : 0; });
  *out += '}';
}

namespace {

bool ReadLabels(Scanner& scanner, ConvolutionDimensions* dimensions, bool with_unknown) {
  scanner.SkipSpace();
  const char* start = scanner.at();
  const auto label = [](char c) { return IsA(c, kWordCharacter) && c != '_' && c != '-' && c != '.'; };
  const auto labels = [&] {
    const char* from = scanner.at();
    while (label(scanner.Here()) || scanner.Here() == '?') scanner.set_at(scanner.at() + 1);
    return scanner.From(from);
  };
  const std::string_view input = labels();
  if (scanner.Here() != '_') return scanner.Fail("dimension labels such as b01f_01io->b01f");
  scanner.set_at(scanner.at() + 1);
  const std::string_view kernel = labels();
  if (scanner.Here() != '-' || !scanner.Try(std::string_view("->"))) {
    return scanner.Fail("dimension labels such as b01f_01io->b01f");
  }
  const std::string_view output = labels();

  // Each side has its two letters and every spatial digit once.
  const auto side = [&](std::string_view text, std::string_view letters, int64_t* first, int64_t* second,
                        std::vector<int64_t>* spatial) {
    const int64_t unknown = with_unknown ? std::count(text.begin(), text.end(), '?') : 0;
    const int64_t rank = static_cast<int64_t>(text.size()) - 2 - unknown;
    if (rank < 0 || rank > 10) {
      return scanner.FailAt(text.data(),
                            "dimension labels such as b01f_01io->b01f, with at most 10 spatial dimensions");
    }
    *first = *second = -1;
    spatial->assign(rank, -1);
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (with_unknown && c == '?') continue;
      int64_t* place = c == letters[0]              ? first
                       : c == letters[1]            ? second
                       : c >= '0' && c < '0' + rank ? &(*spatial)[c - '0']
                                                    : nullptr;
      const char* at = text.data() + i;
      if (place == nullptr) {
        const std::string digits = rank > 0 ? StrCat("0-", rank - 1) : "";
        return scanner.FailAt(at, StrCat("dimension numbers out of [", digits, letters, "]"));
      }
      if (*place >= 0) return scanner.FailAt(at, "each dimension once in the dimension labels");
      *place = static_cast<int64_t>(i);
    }
    return true;
  };
  ConvolutionDimensions& d = *dimensions;
  if (!with_unknown && (input.size() != kernel.size() || input.size() != output.size())) {
    return scanner.FailAt(start, "dimension labels with the same number of spatial dimensions on each side",
                          StrCat("`", scanner.From(start), "`"));
  }
  return side(input, "bf", &d.input_batch, &d.input_feature, &d.input_spatial) &&
         side(kernel, "io", &d.kernel_input_feature, &d.kernel_output_feature, &d.kernel_spatial) &&
         side(output, "bf", &d.output_batch, &d.output_feature, &d.output_spatial);
}

}  // namespace

bool ReadDimensionLabels(Scanner& scanner, ConvolutionDimensions* dimensions) {
  return ReadLabels(scanner, dimensions, /*with_unknown=*/false);
}

bool ReadCustomDimensionLabels(Scanner& scanner, ConvolutionDimensions* dimensions) {
  return ReadLabels(scanner, dimensions, /*with_unknown=*/true);
}

void AppendDimensionLabels(std::string* out, const ConvolutionDimensions& d) {
  const auto side = [](char a, int64_t first, char b, int64_t second, const std::vector<int64_t>& spatial) {
    // Positions come from the text, a proto or a pass; a broken one shows as `?` rather than as a crash. A custom call
    // may have dimensions without a label.
    constexpr int64_t kMostDimensions = 16;
    size_t size = spatial.size() + 2;
    const auto cover = [&](int64_t at) {
      if (at >= 0 && at < kMostDimensions) size = std::max(size, static_cast<size_t>(at) + 1);
    };
    cover(first);
    cover(second);
    for (int64_t at : spatial) cover(at);
    std::string text(size, '?');
    const auto put = [&](int64_t at, char c) {
      if (at >= 0 && at < static_cast<int64_t>(text.size())) text[at] = c;
    };
    put(first, a);
    put(second, b);
    for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i));
    return text;
  };
  StrAppend(out, side('b', d.input_batch, 'f', d.input_feature, d.input_spatial), "_",
            side('i', d.kernel_input_feature, 'o', d.kernel_output_feature, d.kernel_spatial), "->",
            side('b', d.output_batch, 'f', d.output_feature, d.output_spatial));
}

bool ReadString(Scanner& scanner, std::string* content) {
  scanner.SkipSpace();
  const char* at = scanner.at();
  std::string_view raw;
  if (!scanner.String(&raw)) return false;
  if (raw.find('\\') == std::string_view::npos) {
    *content = raw;
    return true;
  }
  return absl::CUnescape(absl::string_view(raw.data(), raw.size()), content) ||
         scanner.FailAt(at, "a string whose backslash escapes are those of C");
}

void AppendString(std::string* out, const std::string& content) {
  StrAppend(out, "\"", absl::CHexEscape(content), "\"");
}

}  // namespace smelt::hlo::text
