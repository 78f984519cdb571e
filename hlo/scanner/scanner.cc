#include "hlo/scanner/scanner.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "absl/strings/escaping.h"
#include "base/str_cat.h"

namespace smelt::hlo::text {

void Scanner::SkipSpaceSlowly() {
  while (at_ != end_) {
    if (IsA(*at_, kSpaceCharacter)) {
      ++at_;
    } else if (*at_ == '/' && end_ - at_ >= 2 && at_[1] == '/') {
      while (at_ != end_ && *at_ != '\n' && *at_ != '\r') ++at_;
    } else if (*at_ == '/' && end_ - at_ >= 2 && at_[1] == '*') {
      const size_t close = std::string_view(at_ + 2, end_ - at_ - 2).find("*/");
      at_ = close == std::string_view::npos ? end_ : at_ + 2 + close + 2;
    } else {
      return;
    }
  }
}

bool Scanner::Try(std::string_view token) {
  SkipSpace();
  const size_t left = end_ - at_;
  if (left < token.size() || *at_ != token[0] || std::memcmp(at_, token.data(), token.size()) != 0) return false;
  if (IsA(token.back(), kWordCharacter) && left > token.size() && IsA(at_[token.size()], kWordCharacter)) return false;
  at_ += token.size();
  return true;
}

bool Scanner::Expect(char c) {
  if (Try(c)) return true;
  return Fail(StrCat("`", std::string_view(&c, 1), "`"));
}

bool Scanner::Expect(std::string_view token) {
  if (Try(token)) return true;
  return Fail(StrCat("`", token, "`"));
}

bool Scanner::Word(std::string_view* word, std::string_view expected) {
  *word = TryWord();
  return !word->empty() || Fail(expected);
}

std::string_view Scanner::TryName() {
  if (Peek() != '%') return TryWord();
  const char* percent = at_++;
  if (at_ != end_ && IsA(*at_, kWordStart | kDigitCharacter)) return WordCharacters();
  at_ = percent;
  return {};
}

bool Scanner::Name(std::string_view* name, std::string_view expected) {
  *name = TryName();
  return !name->empty() || Fail(expected);
}

bool Scanner::AttributeName(std::string_view* name, std::string_view expected) {
  *name = TryWord();
  if (name->empty()) return Fail(expected);
  if (Here() != '=') return FailAt(at_, "`=`", FoundAt(at_));
  ++at_;
  return true;
}

bool Scanner::TryInteger(int64_t* value) {
  SkipSpace();
  const auto [stop, code] = std::from_chars(at_, end_, *value);
  if (code != std::errc()) return false;
  at_ = stop;
  return true;
}

bool Scanner::Integer(int64_t* value, std::string_view expected) {
  SkipSpace();
  const auto [stop, code] = std::from_chars(at_, end_, *value);
  if (code == std::errc::result_out_of_range) return Fail(StrCat(expected, " of at most 64 bits"));
  if (code != std::errc()) return Fail(expected);
  at_ = stop;
  return true;
}

bool Scanner::Float(double* value, std::string_view expected) {
  SkipSpace();
  // The library also takes `.5`, `INF` and `infinity`, which XLA's texts do not have.
  const std::string_view left(at_, end_ - at_);
  const std::string_view digits = left.substr(left.starts_with('-') ? 1 : 0);
  if (digits.empty() || !(IsA(digits[0], kDigitCharacter) || digits.starts_with("inf") || digits.starts_with("nan")))
    return Fail(expected);
  const auto [stop, code] = std::from_chars(at_, end_, *value);
  if (code == std::errc::invalid_argument) return Fail(expected);
  if (code == std::errc::result_out_of_range) {
    // Underflow and overflow share a code; a tiny number is a legal zero.
    const size_t exponent = left.substr(0, stop - at_).find_first_of("eE");
    if (exponent == std::string_view::npos || left[exponent + 1] != '-') {
      return Fail(StrCat(expected, " within the range of f64"));
    }
    *value = 0;
  }
  // XLA's reader knows digits alone as an integer, and those of 64 bits at most.
  const std::string_view number = left.substr(0, stop - at_);
  const bool is_integer = number.find_first_not_of("-0123456789") == std::string_view::npos;
  if (is_integer && (*value >= 0x1p64 || *value < -0x1p63))
    return Fail(StrCat(expected, " of at most 64 bits, or one with an exponent"));
  at_ = stop;
  return at_ == end_ || !IsA(*at_, kWordStart) || Fail("the end of the number");
}

bool Scanner::Boolean(bool* value) {
  *value = Try(std::string_view("true"));
  return *value || Try(std::string_view("false")) || Fail("`true` or `false`");
}

bool Scanner::String(std::string_view* content) {
  if (Peek() != '"') return Fail("a string in double quotes");
  const char* start = at_ + 1;
  const char* from = start;
  for (;;) {
    const char* quote = from == end_ ? nullptr : static_cast<const char*>(std::memchr(from, '"', end_ - from));
    if (quote == nullptr) return FailAt(at_, "a closing quote for this string", "the end of the text");
    // The quote is escaped when an odd number of backslashes stands before it.
    const char* slash = quote;
    while (slash != start && slash[-1] == '\\') --slash;
    if ((quote - slash) % 2 == 0) {
      *content = {start, static_cast<size_t>(quote - start)};
      at_ = quote + 1;
      return true;
    }
    from = quote + 1;
  }
}

std::string Scanner::FoundAt(const char* at) const {
  if (at >= end_) return "the end of the text";
  if (IsA(*at, kSpaceCharacter)) return "white space";
  const char* stop = at;
  if (*stop == '%' || IsA(*stop, kWordCharacter)) {
    ++stop;
    while (stop != end_ && IsA(*stop, kWordCharacter) && stop - at < 60) ++stop;
  } else {
    ++stop;
  }
  return StrCat("`", absl::CHexEscape(absl::string_view(at, stop - at)), "`");
}

bool Scanner::FailAt(const char* at, std::string_view expected) {
  if (failed()) return false;
  // Complaints about what follows point at it, not at the white space before it.
  const char* save = at_;
  at_ = at;
  SkipSpace();
  at = at_;
  at_ = save;
  return FailAt(at, expected, FoundAt(at));
}

bool Scanner::FailAt(const char* at, std::string_view expected, std::string_view found) {
  if (!failed()) error_ = ErrorAt(at, StrCat("expected ", expected, ", found ", found));
  return false;
}

bool Scanner::Complain(const char* at, const absl::Status& complaint) {
  if (!failed()) error_ = ErrorAt(at, std::string(complaint.message()));
  return false;
}

absl::Status Scanner::ErrorAt(const char* at, std::string_view message) const {
  int64_t line = 1;
  const char* line_start = begin_;
  for (const char* c = begin_; c < at; ++c) {
    if (*c == '\n' || (*c == '\r' && (c + 1 == end_ || c[1] != '\n'))) {
      ++line;
      line_start = c + 1;
    }
  }
  const char* line_end = line_start;
  while (line_end != end_ && *line_end != '\n' && *line_end != '\r') ++line_end;
  const int64_t column = at - line_start + 1;
  // A line with a million characters is shown by the surroundings of the place only.
  constexpr int64_t kBefore = 100, kAfter = 60;
  const char* from = at - line_start > kBefore ? at - kBefore : line_start;
  const char* to = line_end - at > kAfter ? at + kAfter : line_end;
  std::string shown(from, to > from ? to - from : 0);
  for (char& c : shown) {
    if (static_cast<uint8_t>(c) < ' ') c = ' ';
  }
  return absl::InvalidArgumentError(StrCat(file_name_, ":", line, ":", column, ": ", message, "\n", shown, "\n",
                                           std::string(std::max<int64_t>(at - from, 0), ' '), "^"));
}

}  // namespace smelt::hlo::text
