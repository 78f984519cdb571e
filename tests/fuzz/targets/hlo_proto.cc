// HLO protos, binary, or text where they begin with a comment: what is read is written, and reads back to the same
// text.
#include "base/check.h"
#include "hlo/proto/reader.h"
#include "hlo/text/printer.h"
#include "tests/fuzz/targets/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const hlo::ProtoForm form = bytes.starts_with('#') ? hlo::ProtoForm::kText : hlo::ProtoForm::kBinary;
  const auto module = hlo::ReadProto(bytes, {.form = form});
  if (!module.ok()) return 0;
  const auto written = hlo::WriteProto(**module, hlo::ProtoForm::kBinary);
  Check(written.ok(), "a module that was read is not written");
  const auto again = hlo::ReadProto(*written);
  Check(again.ok(), "what was written does not read back");
  Check(hlo::ToText(**again) == hlo::ToText(**module), "what was written reads back to another module");
  return 0;
}
