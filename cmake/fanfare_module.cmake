# One call declares a module; the build, the tests and the architecture guards all read it.
#
#   fanfare_module(core/queue PURE
#     DEPS     base                       # modules whose headers it may include
#     EXTERNAL OpenSSL::Crypto            # libraries from outside
#     HEADERS  queue.h
#     SOURCES  queue.cpp                  # none: a header-only module
#     TESTS    queue_test.cpp)            # one test program a module
#
# PURE: no clock, socket, file, thread or environment; `ctest -L arch` checks the archive's symbols.
# The target is fanfare_core_queue; includes are written from src/: #include "core/queue/queue.h".

add_library(fanfare_options INTERFACE)
target_include_directories(fanfare_options INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/src")
target_compile_options(fanfare_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough)
if(FANFARE_WERROR)
  target_compile_options(fanfare_options INTERFACE -Werror)
endif()
if(FANFARE_SANITIZE)
  target_compile_options(fanfare_options INTERFACE -fsanitize=${FANFARE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(fanfare_options INTERFACE -fsanitize=${FANFARE_SANITIZE})
endif()
if(FANFARE_FUZZ)
  target_compile_options(fanfare_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

set_property(GLOBAL PROPERTY FANFARE_MODULES "")

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

function(fanfare_module module)
  cmake_parse_arguments(ARG "PURE" "" "DEPS;EXTERNAL;HEADERS;SOURCES;TESTS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fanfare_module(${module}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  fanfare_target_of(${module} target)
  set(dep_targets "")
  foreach(dep ${ARG_DEPS})
    fanfare_target_of(${dep} dep_target)
    list(APPEND dep_targets ${dep_target})
  endforeach()

  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
    target_link_libraries(${target} PUBLIC fanfare_options ${dep_targets} ${ARG_EXTERNAL})
    set(archive "$<TARGET_FILE:${target}>")
  else()
    add_library(${target} INTERFACE ${ARG_HEADERS})
    target_link_libraries(${target} INTERFACE fanfare_options ${dep_targets} ${ARG_EXTERNAL})
    set(archive "")
  endif()

  if(FANFARE_TESTS AND ARG_TESTS)
    add_executable(${target}_test ${ARG_TESTS})
    target_link_libraries(${target}_test PRIVATE ${target} GTest::gmock GTest::gtest GTest::gtest_main Threads::Threads)
    target_compile_definitions(${target}_test PRIVATE FANFARE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    gtest_discover_tests(${target}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${module}/"
      PROPERTIES LABELS unit TIMEOUT 120)
  endif()

  _fanfare_json_list(deps ${ARG_DEPS})
  _fanfare_json_list(externals ${ARG_EXTERNAL})
  _fanfare_json_list(headers ${ARG_HEADERS})
  _fanfare_json_list(sources ${ARG_SOURCES})
  _fanfare_json_list(tests ${ARG_TESTS})
  if(ARG_PURE)
    set(pure true)
  else()
    set(pure false)
  endif()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set_property(GLOBAL APPEND_STRING PROPERTY FANFARE_MODULES
    "{\"module\": \"${module}\", \"target\": \"${target}\", \"folder\": \"${folder}\", \"pure\": ${pure}, \"archive\": \"${archive}\", \"deps\": ${deps}, \"external\": ${externals}, \"headers\": ${headers}, \"sources\": ${sources}, \"tests\": ${tests}}\n")
endfunction()

# Writes <build>/modules.json, which the architecture guards read.
function(fanfare_finish_modules)
  get_property(modules GLOBAL PROPERTY FANFARE_MODULES)
  string(STRIP "${modules}" modules)
  string(REPLACE "\n" ",\n" modules "${modules}")
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/modules.json" CONTENT "[\n${modules}\n]\n")
endfunction()
