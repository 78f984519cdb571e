#include "hlo/evaluator/lapack/lapack.h"

#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/evaluator/lapack/routines.h"

namespace smelt::hlo {
namespace {

using Routine = absl::Status (*)(LapackJob&);

// LAPACK's names after the letter of the type; a few are others for complex matrices.
struct Family {
  std::string_view name, complex_name;
  Routine s, d, c, z;
};
#define SMELT_FAMILY(name, complex_name, function)                                                                   \
  {                                                                                                                  \
    name, complex_name, &lapack::function<float>, &lapack::function<double>, &lapack::function<std::complex<float>>, \
        &lapack::function<std::complex<double>>                                                                      \
  }
constexpr Family kFamilies[] = {
    SMELT_FAMILY("potrf", "potrf", Potrf), SMELT_FAMILY("getrf", "getrf", Getrf), SMELT_FAMILY("geqrf", "geqrf", Geqrf),
    SMELT_FAMILY("geqp3", "geqp3", Geqp3), SMELT_FAMILY("orgqr", "ungqr", Orgqr), SMELT_FAMILY("trsm", "trsm", Trsm),
    SMELT_FAMILY("gehrd", "gehrd", Gehrd), SMELT_FAMILY("sytrd", "hetrd", Sytrd), SMELT_FAMILY("gtsv", "gtsv", Gtsv),
    SMELT_FAMILY("syevd", "heevd", Syevd), SMELT_FAMILY("gesdd", "gesdd", Gesdd), SMELT_FAMILY("geev", "geev", Geev),
    SMELT_FAMILY("gees", "gees", Gees),    SMELT_FAMILY("ormqr", "unmqr", Ormqr), SMELT_FAMILY("gesvd", "gesvd", Gesvd),
};
#undef SMELT_FAMILY

Routine FindRoutine(const LapackCall& call) {
  const char type = call.type();
  for (const Family& family : kFamilies) {
    if (call.family() == family.name && (type == 's' || type == 'd')) return type == 's' ? family.s : family.d;
    if (call.family() == family.complex_name && (type == 'c' || type == 'z')) return type == 'c' ? family.c : family.z;
  }
  return nullptr;
}

}  // namespace

bool CallsLapack(const Instruction& instruction) {
  const std::optional<LapackCall> call = ReadLapackCall(instruction);
  return call && FindRoutine(*call) != nullptr;
}

absl::StatusOr<Value> EvaluateLapack(const Call& call) {
  const LapackCall lapack = *ReadLapackCall(call.instruction);
  SMELT_ASSIGN_OR_RETURN(LapackJob job, LapackJob::Create(call, lapack));
  SMELT_RETURN_IF_ERROR(FindRoutine(lapack)(job));
  return job.TakeResult();
}

}  // namespace smelt::hlo
