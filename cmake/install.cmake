# What `cmake --install build/release --prefix=FOLDER` puts where: programs, libraries for C, their headers under the names that they have in
# the checkout, shipped models, and a pkg-config file for each library that finds all of it wherever the folder is moved.
include(GNUInstallDirs)

install(TARGETS smelt)
if(SMELT_TRAINING)
  install(TARGETS smelt-train)
endif()
install(TARGETS smelt_score smelt_c smelt_run_shared smelt_run_static)
foreach(header IN ITEMS capi/score.h capi/smelt.h runtime/deploy/smelt_run.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt/${folder})
endforeach()
file(GLOB shipped_models CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/models/*.smeltmodel)
install(FILES ${shipped_models} DESTINATION ${CMAKE_INSTALL_DATADIR}/smelt)
install(DIRECTORY models/probe DESTINATION ${CMAKE_INSTALL_DATADIR}/smelt)

# From lib/pkgconfig to the folder above lib, however deep lib is.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library IN ITEMS "smelt_score|Scores of a kernel's tiles, for compiler passes" "smelt|Fusions of an HLO program, tuned and run"
                         "smelt_run|Runs deployed programs")
  string(REGEX MATCH "^([a-z_]+)\\|(.*)$" parts "${library}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pkgconfig/${CMAKE_MATCH_1}.pc @ONLY CONTENT
"prefix=\${pcfiledir}/${up}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: ${CMAKE_MATCH_1}
Description: ${CMAKE_MATCH_2}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}/smelt
Libs: -L\${libdir} -l${CMAKE_MATCH_1}
")
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${CMAKE_MATCH_1}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
