// Fusion configuration files, against one small module.
#include "base/check.h"
#include "fusion/config_file.h"
#include "fusion/space.h"
#include "hlo/text/parser.h"
#include "tests/fuzz/targets/target.h"

namespace {

// The module of seed.fusion.json (make_corpus.sh).
constexpr char kModule[] = R"(HloModule seed
ENTRY e {
  x = f32[4,8] parameter(0)
  a = f32[4,8] exponential(x)
  b = f32[4,8] tanh(a)
  ROOT c = f32[4,8] add(a, b)
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  static const std::unique_ptr<hlo::Module>& module = *new auto(hlo::ParseModule(kModule).value());
  static const fusion::Space& space = *new auto(fusion::Space::Build(*module, fusion::Rules::OwnKernels()).value());
  const std::string json(reinterpret_cast<const char*>(data), size);
  const auto saved = fusion::ConfigFromJson(json, "fuzz", space);
  if (!saved.ok()) return 0;
  const auto again = fusion::ConfigFromJson(fusion::ConfigToJson(space, *saved), "again", space);
  Check(again.ok() && again->config == saved->config, "a configuration does not survive being saved");
  return 0;
}
