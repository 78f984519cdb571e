#include "hlo/evaluator/lapack/library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace smelt::hlo {
namespace {

// OpenBLAS holds all of LAPACK; else whatever the system's alternative is.
void* OpenLibrary() {
  for (const char* name : {"libopenblas.so.0", "liblapack.so.3"}) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<void*> LapackRoutine(const std::string& name) {
  static void* const library = OpenLibrary();
  if (library == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("LAPACK's ", name,
                     " is called, and there is neither libopenblas.so.0 nor liblapack.so.3: "
                     "install libopenblas0-openmp"));
  void* routine = ::dlsym(library, (name + "_").c_str());
  if (routine == nullptr) return absl::FailedPreconditionError(absl::StrCat("the system's LAPACK has no ", name));
  return routine;
}

}  // namespace smelt::hlo
