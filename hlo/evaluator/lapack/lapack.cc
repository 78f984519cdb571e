#include "hlo/evaluator/lapack/lapack.h"

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

// `spotrf` of `lapack_spotrf_ffi`; empty for other targets.
std::string_view RoutineName(std::string_view target) {
  constexpr std::string_view kBefore = "lapack_", kAfter = "_ffi";
  if (!target.starts_with(kBefore) || !target.ends_with(kAfter) || target.size() < kBefore.size() + kAfter.size() + 2)
    return {};
  return target.substr(kBefore.size(), target.size() - kBefore.size() - kAfter.size());
}

Routine FindRoutine(std::string_view name) {
  if (name.empty()) return nullptr;
  const char type = name[0];
  for (const Family& family : kFamilies) {
    if (name.substr(1) == family.name && (type == 's' || type == 'd')) return type == 's' ? family.s : family.d;
    if (name.substr(1) == family.complex_name && (type == 'c' || type == 'z')) return type == 'c' ? family.c : family.z;
  }
  return nullptr;
}

}  // namespace

bool IsLapackTarget(const std::string& target) { return FindRoutine(RoutineName(target)) != nullptr; }

absl::StatusOr<Value> EvaluateLapack(const Call& call) {
  const std::string name(RoutineName(call.instruction.attributes<CustomCallAttributes>().target));
  SMELT_ASSIGN_OR_RETURN(LapackJob job, LapackJob::Create(call, name));
  SMELT_RETURN_IF_ERROR(FindRoutine(name)(job));
  return job.TakeResult();
}

}  // namespace smelt::hlo
