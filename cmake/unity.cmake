# Several files compiled as one. Half of the processor time of a cold build goes into what every file does anew: the headers of the standard
# library, absl and ours, and the templates made from them. Eight files at once take a third of the time of eight files one by one, sixteen a fifth less than two times eight.
#
# scripts/demo.sh and scripts/test.sh do so in a new build folder. Elsewhere each file is compiled alone: a change of one file is then compiled
# sooner, and a file that includes less than it needs is found.
option(SMELT_UNITY_BUILD "Compile several files as one" OFF)

include(${CMAKE_CURRENT_LIST_DIR}/unity_groups.cmake)

# smelt_unity(RESULT NAME FILES...): what to compile instead of the files, in RESULT: NAME_0.cc, NAME_1.cc, ..., which include them. Files with
# properties of their own (flags, headers) are a call of their own.
function(smelt_unity result name)
  if(NOT SMELT_UNITY_BUILD)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  list(SORT ARGN)
  smelt_fewest_groups(count ${ARGN})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/unity)
  set(outputs "")
  math(EXPR last "${count} - 1")
  foreach(group RANGE ${last})
    list(APPEND outputs ${folder}/${name}_${group}.cc)
  endforeach()
  # The groups follow the names that the files define, so they are made when the files, or the list of them, change; one that stays the same is not written, and then
  # not compiled.
  file(CONFIGURE OUTPUT ${folder}/${name}.files CONTENT "${ARGN}" @ONLY)  # written only where it is another list
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -DFILES=${folder}/${name}.files -DCOUNT=${count} -DOUTPUT=${folder}/${name} -P ${CMAKE_SOURCE_DIR}/cmake/unity_groups.cmake
    DEPENDS ${ARGN} ${folder}/${name}.files ${CMAKE_SOURCE_DIR}/cmake/unity_groups.cmake
    COMMENT "Grouping the files of ${name}")
  set(${result} ${outputs} PARENT_SCOPE)
endfunction()
