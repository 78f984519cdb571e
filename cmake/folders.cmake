# smelt_library(hlo DEPS ... PRIVATE_DEPS ...): the folder's one library target, smelt_hlo, from all its .cc files. Those whose paths in the folder
# match one of COLD are what smelt_cold says: objects of the same library, smelt_hlo_cold.
function(smelt_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE_DEPS;EXCLUDE;COLD" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/register\\.cc$")  # smelt_registered has it
  foreach(excluded IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/${excluded}$")
  endforeach()
  if(ARG_COLD)
    list(JOIN ARG_COLD "|" paths)
    set(cold ${sources})
    list(FILTER cold INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${paths})$")
    list(REMOVE_ITEM sources ${cold})
    smelt_unity(compiled ${name}_cold ${cold})
    add_library(smelt_${name}_cold OBJECT ${compiled})
    target_link_libraries(smelt_${name}_cold PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
    smelt_cold(smelt_${name}_cold)
    smelt_precompile(smelt_${name}_cold library)
  endif()
  smelt_unity(compiled ${name} ${sources})
  add_library(smelt_${name} STATIC ${compiled})
  target_link_libraries(smelt_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  smelt_precompile(smelt_${name} library)
  if(ARG_COLD)
    target_sources(smelt_${name} PRIVATE $<TARGET_OBJECTS:smelt_${name}_cold>)
  endif()
endfunction()

# smelt_cold(TARGET): what runs once a command, where a fifth less of the compiler's time is worth more than speed.
function(smelt_cold target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# smelt_test(hlo DEPS ...): one GoogleTest program, hlo_test, from all *_test.cc below tests/hlo; every test is a ctest case.
function(smelt_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/fuzz/targets/|/register\\.cc$")  # programs of their own
  if(NOT sources)
    return()
  endif()
  smelt_unity(compiled ${name}_test ${sources})
  add_executable(${name}_test ${compiled})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  smelt_cold(${name}_test)
  smelt_precompile(${name}_test test <fstream> <random> <gmock/gmock.h> <gtest/gtest.h>)
  target_compile_definitions(${name}_test PRIVATE SMELT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  include(GoogleTest)
  gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 900)
endfunction()

# smelt_source_version(TARGET HEADER header NAMESPACE namespace FOLDERS folder...): the library defines SourceVersion() of that header and namespace,
# a hash of the folders' sources.
function(smelt_source_version target)
  cmake_parse_arguments(version "" "HEADER;NAMESPACE" "FOLDERS" ${ARGN})
  set(sources "")
  foreach(folder IN LISTS version_FOLDERS)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc ${CMAKE_SOURCE_DIR}/${folder}/*.h)
    list(APPEND sources ${found})
  endforeach()
  list(JOIN version_FOLDERS "," folders)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/source_version.cc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/source_version.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DROOT=${CMAKE_SOURCE_DIR} -DFOLDERS=${folders} -DHEADER=${version_HEADER} -DNAMESPACE=${version_NAMESPACE} -P ${script}
    DEPENDS ${sources} ${script})
  target_sources(${target} PRIVATE ${output})
endfunction()
