// absl::StrCat and absl::StrAppend that also take std::string_view, which Debian's Abseil (built with a string_view of
// its own) does not.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace smelt {

template <typename T>
decltype(auto) StrCatPiece(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return absl::string_view(value.data(), value.size());
  } else {
    return (value);
  }
}

template <typename... T>
std::string StrCat(const T&... pieces) {
  return absl::StrCat(StrCatPiece(pieces)...);
}

template <typename... T>
void StrAppend(std::string* out, const T&... pieces) {
  absl::StrAppend(out, StrCatPiece(pieces)...);
}

}  // namespace smelt
