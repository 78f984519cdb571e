// Walks over a text: white space, comments, words, numbers, strings, and the one error that ends the walk.
//
//   Scanner scanner("f32[2]", "example.hlo");
//   std::string_view word;
//   scanner.Word(&word, "a type");      // "f32"
//   scanner.Expect('[');
//
// The text is neither copied nor changed, and no token allocates. Functions that can fail return false after they have
// recorded an error; the first error wins, and a caller only passes the false on. Linear in the text; keeps no stack.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace smelt::hlo::text {

enum CharacterClass : uint8_t { kSpaceCharacter = 1, kWordStart = 2, kWordCharacter = 4, kDigitCharacter = 8 };

constexpr std::array<uint8_t, 256> MakeCharacterClasses() {
  std::array<uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\n', '\r', '\v', '\f'}) classes[static_cast<uint8_t>(c)] = kSpaceCharacter;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kWordStart | kWordCharacter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kWordStart | kWordCharacter;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kWordCharacter | kDigitCharacter;
  classes['_'] = kWordStart | kWordCharacter;
  classes['-'] = classes['.'] = kWordCharacter;
  return classes;
}
inline constexpr std::array<uint8_t, 256> kCharacterClasses = MakeCharacterClasses();

inline bool IsA(char c, uint8_t classes) { return (kCharacterClasses[static_cast<uint8_t>(c)] & classes) != 0; }

// Parsers that recurse (nested operands, inline bodies, tuple shapes and literals) stop here, far above what any
// compiler writes and far below what fills a stack.
inline constexpr int kNestingLimit = 200;

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file_name)
      : begin_(text.data()), end_(text.data() + text.size()), at_(begin_), file_name_(file_name) {}

  // Where the next character stands. Assigning goes back (or forward) to a place that was passed before.
  const char* at() const { return at_; }
  void set_at(const char* at) { at_ = at; }
  const char* end() const { return end_; }
  std::string_view From(const char* start) const { return {start, static_cast<size_t>(at_ - start)}; }

  // Skips white space and comments. An unfinished comment reaches to the end of the text.
  void SkipSpace() {
    if (at_ != end_ && !IsA(*at_, kSpaceCharacter) && *at_ != '/') return;
    SkipSpaceSlowly();
  }
  // The next character after white space; NUL at the end of the text.
  char Peek() {
    SkipSpace();
    return at_ == end_ ? '\0' : *at_;
  }
  // The character that stands here, white space or not.
  char Here() const { return at_ == end_ ? '\0' : *at_; }
  bool AtEnd() {
    SkipSpace();
    return at_ == end_;
  }

  bool Try(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  // A fixed string such as `->`; for words, what follows must not continue the word.
  bool Try(std::string_view token);
  bool Expect(char c);
  bool Expect(std::string_view token);

  // [a-zA-Z_][a-zA-Z0-9_.-]*; empty when something else follows.
  std::string_view TryWord() {
    if (!IsA(Peek(), kWordStart)) return {};
    return WordCharacters();
  }
  bool Word(std::string_view* word, std::string_view expected);
  // The same with an optional `%`, after which digits may begin the name.
  std::string_view TryName();
  bool Name(std::string_view* name, std::string_view expected);
  // `name=`: nothing stands between a name and its `=`.
  bool AttributeName(std::string_view* name, std::string_view expected);

  bool Integer(int64_t* value, std::string_view expected = "an integer");
  bool TryInteger(int64_t* value);
  bool Float(double* value, std::string_view expected = "a number");
  bool Boolean(bool* value);  // true or false
  // "..." with backslash escapes; `content` is what stands between the quotes, escapes untouched.
  bool String(std::string_view* content);

  // Records `FILE:LINE:COLUMN: expected ..., found ...`; what is found is read from the text at `at`.
  bool Fail(std::string_view expected) { return FailAt(at_, expected); }
  bool FailAt(const char* at, std::string_view expected);
  bool FailAt(const char* at, std::string_view expected, std::string_view found);
  // Records a complaint that comes from elsewhere, such as shape inference, at this place. Always false.
  bool Complain(const char* at, const absl::Status& complaint);
  // Whether shapes are held to rules that XLA leaves to its verifier.
  void set_verifies(bool verifies) { verifies_ = verifies; }
  bool verifies() const { return verifies_; }
  bool failed() const { return !error_.ok(); }
  const absl::Status& error() const { return error_; }
  // `FILE:LINE:COLUMN: message`, the line and a caret, for complaints that do not come from scanning.
  absl::Status ErrorAt(const char* at, std::string_view message) const;

 private:
  void SkipSpaceSlowly();
  std::string_view WordCharacters() {
    const char* start = at_;
    while (at_ != end_ && IsA(*at_, kWordCharacter)) ++at_;
    // A comment of the form `->` must not be eaten by a word that ends in a minus sign.
    if (at_ != end_ && *at_ == '>' && at_[-1] == '-') --at_;
    return From(start);
  }
  std::string FoundAt(const char* at) const;

  const char* begin_;
  const char* end_;
  const char* at_;
  std::string file_name_;
  bool verifies_ = true;
  absl::Status error_;
};

}  // namespace smelt::hlo::text
