# `cmake --install`: the component `program` is the fanfare command, the component `sdk` what find_package(Fanfare) finds.
#
#   cmake --install build/release --prefix /usr/local --component program
#   cmake --install build/release --prefix /usr/local --component sdk
#
#   find_package(Fanfare REQUIRED)
#   target_link_libraries(hello PRIVATE Fanfare::sdk)
#
# Rule 1: Fanfare::sdk and its headers <fanfare/*.h> are the interface. The other libraries and include/fanfare/internal are there because
#         they are needed behind it, and may change with every version.
# Rule 2: nothing of this machine is in the package: no path of the source, no warning flag. tests/process/sdk_package_test.py builds
#         a consumer from an installed prefix.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS fanfare RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)

# fanfare_sdk and what is behind it, each once.
set(exported fanfare_options)
set(waiting fanfare_sdk)
while(waiting)
  list(POP_FRONT waiting target)
  if(target IN_LIST exported)
    continue()
  endif()
  list(APPEND exported ${target})
  string(REGEX REPLACE "^fanfare_" "" name "${target}")
  set_target_properties(${target} PROPERTIES EXPORT_NAME "${name}")
  get_target_property(behind ${target} FANFARE_DEPS)
  list(APPEND waiting ${behind})
endwhile()
set_target_properties(fanfare_options PROPERTIES EXPORT_NAME options)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Fanfare")
install(TARGETS ${exported} EXPORT FanfareTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/fanfare" COMPONENT sdk)
install(EXPORT FanfareTargets NAMESPACE Fanfare:: DESTINATION "${package}" COMPONENT sdk)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/sdk/include/fanfare" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT sdk
  FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/src/base/result.h" "${PROJECT_SOURCE_DIR}/src/base/time.h"  # what those include
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/fanfare/internal/base" COMPONENT sdk)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/FanfareConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/FanfareConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/FanfareConfigVersion.cmake"
  DESTINATION "${package}" COMPONENT sdk)
