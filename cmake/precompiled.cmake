# Headers of libraries, parsed once instead of once a file: a third of the processor time of a cold build. None of ours is among them, so that
# a change of ours compiles what includes it and nothing else; and every file still includes what it needs (other compilers, and
# -DSMELT_PRECOMPILE=OFF, build without).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  option(SMELT_PRECOMPILE "Parse the headers of libraries once" ON)
else()
  option(SMELT_PRECOMPILE "Parse the headers of libraries once" OFF)
endif()

set(SMELT_PRECOMPILED_HEADERS
    <algorithm> <chrono> <cmath> <complex> <cstdint> <cstdio> <cstring> <filesystem> <functional> <limits> <map> <memory> <optional> <string>
    <string_view> <utility> <variant> <vector> <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <absl/container/inlined_vector.h> <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>
    <absl/strings/str_join.h> <absl/strings/str_split.h> <absl/types/span.h>)

# smelt_precompile(smelt_hlo library): all targets of a kind share what the first of them compiles; they have the same options.
function(smelt_precompile target kind)
  if(NOT SMELT_PRECOMPILE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY SMELT_PRECOMPILED_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${SMELT_PRECOMPILED_HEADERS} ${ARGN})
    set_property(GLOBAL PROPERTY SMELT_PRECOMPILED_${kind} ${target})
  endif()
endfunction()
