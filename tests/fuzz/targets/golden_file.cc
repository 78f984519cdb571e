// Golden files: safetensors with a description in the metadata.
#include "hlo/golden/golden.h"
#include "tests/fuzz/targets/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  const std::string path = fuzz::FileOf(data, size, "golden.safetensors");
  hlo::ReadSafetensors(path).status().IgnoreError();
  hlo::Golden::Load(path).status().IgnoreError();
  return 0;
}
