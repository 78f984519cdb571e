#include "targets/xla/embed/link_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "targets/xla/embed/kernel_table_text.h"

namespace smelt::embed {
std::string LinkTable(const std::vector<EmbeddedKernel>& kernels) {
  std::string text = absl::StrCat(KernelTableText(), "\n"), rows;
  bool tiles = false;
  for (const EmbeddedKernel& kernel : kernels) {
    const runtime::KernelDescriptor& d = kernel.object.descriptor;
    std::vector<std::string> phases;
    tiles |= d.uses_tiles;
    for (const runtime::PhaseDescriptor& phase : d.phases) {
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
  absl::StrAppend(&text, "\nconst int64_t smelt_table_version = kTableVersion;\nconst int64_t smelt_uses_tiles = ",
                  tiles ? 1 : 0, ";\nconst int64_t smelt_kernel_count = ", kernels.size(),
                  ";\nconst struct Kernel smelt_kernels[] = {\n", rows.empty() ? "  {0}\n" : rows, "};\n");
  return text;
}

}  // namespace smelt::embed
