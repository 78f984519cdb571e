#include "gnn/exchange/csv.h"

#include "base/str_cat.h"

namespace smelt::gnn {

absl::Status CsvReader::Wrong(std::string_view what) const {
  return absl::InvalidArgumentError(StrCat(name_, ":", row_line_, ": ", what));
}

absl::StatusOr<bool> CsvReader::Next(std::vector<std::string>* row) {
  constexpr size_t kLongestField = size_t{64} << 20;
  enum { kBegin, kPlain, kQuoted, kClosed } state = kBegin;
  row->clear();
  std::string field;
  bool any = false;
  row_line_ = line_;
  const auto end_field = [&] {
    row->push_back(std::move(field));
    field.clear();
    state = kBegin;
  };
  for (int next = in_.get(); next != std::istream::traits_type::eof(); next = in_.get()) {
    const char c = static_cast<char>(next);
    if (c == '\n') ++line_;
    if (field.size() > kLongestField) return Wrong("a field is longer than 64 MiB; is a quote missing?");
    if (state == kQuoted) {
      if (c == '"') {
        state = kClosed;
      } else {
        field += c;
      }
      continue;
    }
    if (c == '"' && state == kClosed) {  // twice: the quote itself
      field += c;
      state = kQuoted;
    } else if (c == '"' && state == kBegin) {
      state = kQuoted;
      any = true;
    } else if (c == ',') {
      end_field();
      any = true;
    } else if (c == '\r' && in_.peek() == '\n') {
      continue;
    } else if (c == '\n') {
      if (any || !field.empty()) {
        end_field();
        return true;
      }
      row_line_ = line_;  // an empty line
    } else if (state == kClosed) {
      return Wrong(StrCat("`", std::string(1, c), "` behind a closing quote; a quote in a field is written twice"));
    } else {
      field += c;
      state = kPlain;
    }
  }
  if (in_.bad()) return absl::UnavailableError(StrCat(name_, ": cannot be read to its end"));
  if (state == kQuoted) return Wrong("a quote is not closed");
  if (!any && field.empty()) return false;
  end_field();
  return true;
}

std::string CsvRow(const std::vector<std::string>& fields) {
  std::string row;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) row += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      row += field;
      continue;
    }
    row += '"';
    for (const char c : field) row.append(c == '"' ? 2 : 1, c);
    row += '"';
  }
  // A row of one empty field would read as no row.
  return (fields.size() == 1 && fields[0].empty() ? "\"\"" : row) + "\n";
}

}  // namespace smelt::gnn
