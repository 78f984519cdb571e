// Early return on error, for .cc files (never included by a public header).
//
//   SMELT_RETURN_IF_ERROR(hlo::VerifyModule(module));
//   SMELT_ASSIGN_OR_RETURN(hlo::Shape shape, hlo::ParseShape(text));
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define SMELT_RETURN_IF_ERROR(expression)                                                  \
  do {                                                                                     \
    if (absl::Status smelt_status = (expression); !smelt_status.ok()) return smelt_status; \
  } while (false)

#define SMELT_CONCAT_(a, b) a##b
#define SMELT_CONCAT(a, b) SMELT_CONCAT_(a, b)
#define SMELT_ASSIGN_OR_RETURN(target, expression) \
  SMELT_ASSIGN_OR_RETURN_(SMELT_CONCAT(smelt_status_or_, __LINE__), target, expression)
#define SMELT_ASSIGN_OR_RETURN_(temporary, target, expression) \
  auto temporary = (expression);                               \
  if (!temporary.ok()) return std::move(temporary).status();   \
  target = std::move(temporary).value()
