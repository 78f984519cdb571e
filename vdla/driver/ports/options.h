// The options of a port, key=value, as its name brought them.
//
//   Options options = Options::Parse("machine=big,races=off").value();
//   absl::Status known = options.CheckKnown("cycle", {"machine", "races"});
//   bool races = options.Flag("races", true).value();
//   isa::Config machine = options.Machine().value();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::driver {

class Options {
 public:
  // InvalidArgument: a part without `=`, or a key given twice.
  static absl::StatusOr<Options> Parse(std::string_view text);

  // InvalidArgument: a key that is none of these.
  absl::Status CheckKnown(std::string_view port, std::initializer_list<std::string_view> known) const;
  std::string Text(std::string_view key, std::string_view otherwise) const;
  bool Has(std::string_view key) const { return values_.contains(key); }
  // InvalidArgument: neither `on` nor `off`.
  absl::StatusOr<bool> Flag(std::string_view key, bool otherwise) const;
  // A whole number above zero, K, M and G for powers of 1024. InvalidArgument: anything else.
  absl::StatusOr<uint64_t> Number(std::string_view key, uint64_t otherwise) const;
  // `machine`, with `dram` instead of its own DRAM where that is less.
  absl::StatusOr<isa::Config> Machine() const;
  // All options but one.
  Options Without(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace smelt::vdla::driver
