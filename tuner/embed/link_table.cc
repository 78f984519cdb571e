#include "tuner/embed/link_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace smelt::tuner::embed {
namespace {

constexpr char kStructures[] = R"(#include <stdint.h>

typedef void PhaseFunction(void* const* buffers, void* thread_scratch, int64_t begin, int64_t end);
struct Phase { PhaseFunction* function; int64_t extent; };
struct Kernel {
  const char* id;
  int64_t inputs, outputs;
  int64_t shared_count;
  const int64_t* shared_bytes;
  int64_t thread_scratch_bytes;
  int64_t phase_count;
  const struct Phase* phases;
};

)";

}  // namespace

std::string LinkTable(const std::vector<EmbeddedKernel>& kernels) {
  std::string text = kStructures, rows;
  for (const EmbeddedKernel& kernel : kernels) {
    const kernels::runtime::KernelDescriptor& d = kernel.object.descriptor;
    std::vector<std::string> phases;
    for (const kernels::runtime::PhaseDescriptor& phase : d.phases) {
      absl::StrAppend(&text, "extern PhaseFunction ", phase.symbol, ";\n");
      phases.push_back(absl::StrCat("{", phase.symbol, ", ", phase.extent, "}"));
    }
    absl::StrAppend(&text, "static const struct Phase phases_", kernel.id, "[] = {", absl::StrJoin(phases, ", "),
                    "};\n");
    // C has no arrays of nothing.
    absl::StrAppend(&text, "static const int64_t shared_", kernel.id, "[] = {",
                    d.shared_bytes.empty() ? "0" : absl::StrJoin(d.shared_bytes, ", "), "};\n");
    absl::StrAppend(&rows, "  {\"", kernel.id, "\", ", d.input_count, ", ", d.output_count, ", ", d.shared_bytes.size(),
                    ", shared_", kernel.id, ", ", d.thread_scratch_bytes, ", ", d.phases.size(), ", phases_", kernel.id,
                    "},\n");
  }
  absl::StrAppend(&text, "\nconst int64_t smelt_table_version = ", kTableVersion,
                  ";\nconst int64_t smelt_kernel_count = ", kernels.size(),
                  ";\nconst struct Kernel smelt_kernels[] = {\n", rows.empty() ? "  {0}\n" : rows, "};\n");
  return text;
}

}  // namespace smelt::tuner::embed
