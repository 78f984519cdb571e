#include "hlo/proto/wrappers.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <string>

#include "base/str_cat.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::proto {
namespace {

// Tuples nest to the same depth as in a text; an element of a nested literal takes a level more than its value.
constexpr int kRecursionLimit = text::kNestingLimit + 40;

// The first error, with its place. Unknown fields are warnings.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = StrCat(line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool Parse(std::string_view bytes, ProtoForm form, google::protobuf::Message* to, std::string* error) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  if (form == ProtoForm::kText) {
    FirstError first;
    google::protobuf::TextFormat::Parser parser;
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kRecursionLimit);
    parser.RecordErrorsTo(&first);
    const bool good = parser.Parse(&stream, to);
    if (!good) *error = first.text();
    return good;
  }
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kRecursionLimit);
  return to->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

bool IsModule(const HloModuleProto& module) { return module.computations_size() > 0; }

}  // namespace

absl::Status UnwrapModule(std::string_view bytes, ProtoForm form, HloModuleProto* module) {
  if (bytes.size() > INT32_MAX) {
    return absl::InvalidArgumentError(
        StrCat("the proto has ", bytes.size(), " bytes; protobuf reads at most ", INT32_MAX));
  }
  std::string error;
  HloSnapshot snapshot;
  if (Parse(bytes, form, &snapshot, &error) && IsModule(snapshot.hlo().hlo_module())) {
    module->Swap(snapshot.mutable_hlo()->mutable_hlo_module());
    return absl::OkStatus();
  }
  snapshot.Clear();
  HloProto wrapped;
  if (Parse(bytes, form, &wrapped, &error) && IsModule(wrapped.hlo_module())) {
    module->Swap(wrapped.mutable_hlo_module());
    return absl::OkStatus();
  }
  wrapped.Clear();
  const bool parsed = Parse(bytes, form, module, &error);
  if (parsed && IsModule(*module)) return absl::OkStatus();
  if (!error.empty()) return absl::InvalidArgumentError(error);
  const std::string what = parsed ? "it has no computations" : "the bytes are no such message, or are cut short";
  const bool looks_like_text = bytes.find("HloModule") < 100 || bytes.starts_with("ENTRY");
  return absl::InvalidArgumentError(
      StrCat("expected an HloModuleProto, HloProto or HloSnapshot", form == ProtoForm::kText ? " as text" : "", "; ",
             what, looks_like_text ? "; it looks like HLO text, whose extension is .hlo or .txt" : ""));
}

}  // namespace smelt::hlo::proto
