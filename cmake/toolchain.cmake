# Compiler cache, linker, warnings and sanitizers: everything about how files are compiled and nothing about which.

find_program(SMELT_CCACHE ccache)
if(SMELT_CCACHE)
  # What ccache wants to be told before it remembers files with precompiled headers, that these change no __TIME__ and no macro; and
  # it should not read a hundred megabytes of them anew for each file.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=true ${SMELT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
# A compilation takes up to 1.1 GB. Where there are more cores than that, fewer run at a time instead of the machine's memory running out.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR jobs "${memory_mib} / 1200 + 1")
set_property(GLOBAL PROPERTY JOB_POOLS compile=${jobs})
set(CMAKE_JOB_POOL_COMPILE compile)

find_program(SMELT_MOLD mold)
if(SMELT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -g1 keeps line numbers for profiles and sanitizer reports at a tenth of the size of full debug information.
add_compile_options(-Wall -Wextra -Wno-sign-compare -Wno-missing-field-initializers -fno-omit-frame-pointer)
set(werror OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(werror ON)  # another compiler's warnings are no reason not to build
endif()
option(SMELT_WERROR "Treat warnings as errors" ${werror})
if(SMELT_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Half a gigabyte of a compilation's memory is never searched for what is no longer needed: a seventh of the time, for a third more memory.
  add_compile_options("SHELL:--param ggc-min-heapsize=524288")
  # GCC 12 reports false maybe-uninitialized and stringop findings inside std::variant and std::vector at -O2.
  add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-restrict)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")
  set(CMAKE_C_FLAGS_RELEASE "-O2")
  # A linker that is asked to can leave out what nothing reaches, function by function: capi/ asks.
  add_compile_options(-ffunction-sections -fdata-sections)
endif()
if(SMELT_SANITIZE)
  add_compile_options(-fsanitize=${SMELT_SANITIZE} -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${SMELT_SANITIZE})
endif()

find_package(absl REQUIRED)
find_package(Threads REQUIRED)
include_directories(${CMAKE_SOURCE_DIR})
