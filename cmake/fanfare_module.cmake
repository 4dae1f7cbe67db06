# One call declares a module; the build, the tests and the architecture guards all read it.
#
#   fanfare_module(core/queue PURE
#     DEPS     base                       # modules whose headers it may include
#     EXTERNAL OpenSSL::Crypto            # libraries from outside
#     HEADERS  queue.h
#     SOURCES  queue.cpp                  # none: a header-only module
#     TESTS    queue_test.cpp             # one test program a module
#     TEST_DEPS wire/json                 # further modules that only the tests include
#     TEST_EXTERNAL rapidcheck)           # further libraries of the tests; GoogleTest is always there
#
# PURE: no clock, socket, file, thread or environment; `ctest -L arch` checks the archive's symbols.
# The target is fanfare_core_queue; includes are written from src/: #include "core/queue/queue.h".
# DEPS are direct: a module names every module whose headers its own files include.

# What we are warned of is our own affair: of this folder and below, never of whoever links our libraries.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  -Wno-missing-field-initializers)  # designated initialisers leave out what has a default
if(FANFARE_WERROR)
  add_compile_options(-Werror)
endif()

# What our headers need, and what everything in one program must be built with. cmake/fanfare_install.cmake exports it.
add_library(fanfare_options INTERFACE)
target_include_directories(fanfare_options INTERFACE "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src>"
  "$<INSTALL_INTERFACE:include/fanfare/internal>")
target_compile_features(fanfare_options INTERFACE cxx_std_20)
if(FANFARE_SANITIZE)
  target_compile_options(fanfare_options INTERFACE -fsanitize=${FANFARE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(fanfare_options INTERFACE -fsanitize=${FANFARE_SANITIZE})
endif()
if(FANFARE_FUZZ)
  target_compile_options(fanfare_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

set_property(GLOBAL PROPERTY FANFARE_MODULES "")

# `cmake --build --preset asan --target fanfare_tests` builds every test program and nothing else: those of the modules,
# and every program that is made in tests/, scenarios/ or sim/.
if(FANFARE_TESTS)
  add_custom_target(fanfare_tests)
endif()

function(fanfare_target_of module out)
  string(REPLACE "/" "_" name "${module}")
  set(${out} "fanfare_${name}" PARENT_SCOPE)
endfunction()

function(_fanfare_json_list out)
  set(quoted "")
  foreach(item ${ARGN})
    list(APPEND quoted "\"${item}\"")
  endforeach()
  list(JOIN quoted ", " joined)
  set(${out} "[${joined}]" PARENT_SCOPE)
endfunction()

# The files or -l flags behind libraries from outside, for the link guard; imported targets are looked through.
function(_fanfare_library_files out)
  set(files "")
  foreach(item ${ARGN})
    if(item MATCHES "[$]<")
      continue()
    elseif(NOT TARGET ${item})
      if(item MATCHES "^(-|/)")
        list(APPEND files "${item}")
      else()
        list(APPEND files "-l${item}")
      endif()
      continue()
    endif()
    get_target_property(aliased ${item} ALIASED_TARGET)
    if(aliased)
      set(item ${aliased})
    endif()
    get_target_property(type ${item} TYPE)
    get_target_property(imported ${item} IMPORTED)
    if(imported AND NOT type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(location ${item} IMPORTED_LOCATION)
      get_target_property(configurations ${item} IMPORTED_CONFIGURATIONS)
      foreach(configuration ${configurations})
        if(NOT location)
          get_target_property(location ${item} IMPORTED_LOCATION_${configuration})
        endif()
      endforeach()
      if(location)
        list(APPEND files "${location}")
      endif()
    elseif(NOT imported AND NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND files "$<TARGET_FILE:${item}>")
    endif()
    get_target_property(behind ${item} INTERFACE_LINK_LIBRARIES)
    if(behind)
      _fanfare_library_files(files_behind ${behind})
      list(APPEND files ${files_behind})
    endif()
  endforeach()
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

function(fanfare_module module)
  cmake_parse_arguments(ARG "PURE" "" "DEPS;EXTERNAL;HEADERS;SOURCES;TESTS;TEST_DEPS;TEST_EXTERNAL" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fanfare_module(${module}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  fanfare_target_of(${module} target)
  set(dep_targets "")
  foreach(dep ${ARG_DEPS})
    fanfare_target_of(${dep} dep_target)
    list(APPEND dep_targets ${dep_target})
  endforeach()

  # A library that was found as a file is a name to whoever links an installed one.
  set(external "")
  foreach(library ${ARG_EXTERNAL})
    if(library MATCHES "^/.*/lib([^/]+)[.](so|a)$")
      list(APPEND external "$<BUILD_INTERFACE:${library}>" "$<INSTALL_INTERFACE:${CMAKE_MATCH_1}>")
    else()
      list(APPEND external ${library})
    endif()
  endforeach()

  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
    target_link_libraries(${target} PUBLIC fanfare_options ${dep_targets} ${external})
    set(archive "$<TARGET_FILE:${target}>")
  else()
    add_library(${target} INTERFACE ${ARG_HEADERS})
    target_link_libraries(${target} INTERFACE fanfare_options ${dep_targets} ${external})
    set(archive "")
  endif()
  set_target_properties(${target} PROPERTIES FANFARE_DEPS "${dep_targets}")

  if(FANFARE_TESTS AND ARG_TESTS)
    add_executable(${target}_test ${ARG_TESTS})
    foreach(dep ${ARG_TEST_DEPS})
      fanfare_target_of(${dep} dep_target)
      target_link_libraries(${target}_test PRIVATE ${dep_target})
    endforeach()
    target_link_libraries(${target}_test PRIVATE ${target} ${ARG_TEST_EXTERNAL} GTest::gmock GTest::gtest
      GTest::gtest_main Threads::Threads)
    add_dependencies(fanfare_tests ${target}_test)
    target_compile_definitions(${target}_test PRIVATE FANFARE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    gtest_discover_tests(${target}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${module}/"
      PROPERTIES LABELS unit TIMEOUT 120)
  endif()

  _fanfare_json_list(deps ${ARG_DEPS})
  _fanfare_json_list(externals ${ARG_EXTERNAL})
  _fanfare_library_files(libraries ${ARG_EXTERNAL})
  _fanfare_json_list(libraries ${libraries})
  _fanfare_json_list(test_deps ${ARG_TEST_DEPS})
  _fanfare_json_list(headers ${ARG_HEADERS})
  _fanfare_json_list(sources ${ARG_SOURCES})
  _fanfare_json_list(tests ${ARG_TESTS})
  if(ARG_PURE)
    set(pure true)
  else()
    set(pure false)
  endif()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(entry "\"module\": \"${module}\", \"target\": \"${target}\", \"folder\": \"${folder}\", \"pure\": ${pure}, "
    "\"archive\": \"${archive}\", \"deps\": ${deps}, \"external\": ${externals}, \"libraries\": ${libraries}, "
    "\"test_deps\": ${test_deps}, \"headers\": ${headers}, \"sources\": ${sources}, \"tests\": ${tests}")
  list(JOIN entry "" entry)
  set_property(GLOBAL APPEND_STRING PROPERTY FANFARE_MODULES "{${entry}}\n")
endfunction()

function(_fanfare_programs_below folder out)
  set(found "")
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    _fanfare_programs_below("${below}" found_below)
    list(APPEND found ${found_below})
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Writes <build>/modules.json, which the architecture guards read.
function(fanfare_finish_modules)
  get_property(folders DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTY SUBDIRECTORIES)
  foreach(folder ${folders})
    if(FANFARE_TESTS AND folder MATCHES "/(tests|scenarios|sim)$")
      _fanfare_programs_below("${folder}" programs)
      foreach(program ${programs})
        add_dependencies(fanfare_tests ${program})
      endforeach()
    endif()
  endforeach()
  get_property(modules GLOBAL PROPERTY FANFARE_MODULES)
  string(STRIP "${modules}" modules)
  string(REPLACE "\n" ",\n" modules "${modules}")
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/modules.json" CONTENT "[\n${modules}\n]\n")
endfunction()
