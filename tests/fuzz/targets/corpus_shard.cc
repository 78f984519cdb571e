// A shard of a training corpus: framed records, of which any may be torn; and a record whose checksums are right but
// whose content is anything.
#include <filesystem>

#include "base/check.h"
#include "gnn/corpus/corpus.h"
#include "gnn/corpus/record_file.h"
#include "tests/fuzz/targets/target.h"

namespace smelt {
namespace {

void ReadRecords(const std::string& shard, size_t size) {
  const auto reader = gnn::RecordReader::Open(shard);
  if (!reader.ok()) return;
  std::string record;
  size_t bytes = 0;
  for (;;) {
    const auto result = (*reader)->Next(&record);
    if (!result.ok() || *result != gnn::RecordResult::kRecord) break;
    bytes += record.size();
    Check(bytes <= size, "the records hold more than the file");
  }
}

void ReadFolder(const std::string& shard) {
  const auto report =
      gnn::ReadCorpus(std::filesystem::path(shard).parent_path().string(), [](gnn::KernelExample example) {
        for (const gnn::Measurement& measurement : example.measurements) measurement.label();
        return absl::OkStatus();
      });
  Check(report.ok() || !report.status().message().empty(), "an error without a message");
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  const std::string shard = fuzz::FileOf(data, size, "shard-00000.tfrecord");
  ReadRecords(shard, size);
  ReadFolder(shard);
  auto writer = gnn::RecordWriter::Open(shard, 0);
  Check(writer.ok(), "a new shard cannot be written");
  Check((*writer)->Append(std::string_view(reinterpret_cast<const char*>(data), size)).ok(),
        "a record cannot be written");
  ReadFolder(shard);
  return 0;
}
