// A shard of a training corpus: framed records, of which any may be torn.
#include "gnn/corpus/corpus.h"
#include "gnn/corpus/record_file.h"
#include "hlo/check.h"
#include "tests/fuzz/targets/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  const auto reader = gnn::RecordReader::Open(fuzz::FileOf(data, size, "shard"));
  if (!reader.ok()) return 0;
  std::string record;
  size_t bytes = 0;
  for (;;) {
    const auto result = (*reader)->Next(&record);
    if (!result.ok() || *result != gnn::RecordResult::kRecord) break;
    bytes += record.size();
    Check(bytes <= size, "the records hold more than the file");
  }
  return 0;
}
