# What find_package(Fanfare) reads: the libraries behind Fanfare::sdk, then Fanfare::sdk itself.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(OpenSSL 3.0)
find_dependency(fmt 9)
find_dependency(Boost 1.81)
find_dependency(simdjson 3.0)
find_dependency(pugixml)
include("${CMAKE_CURRENT_LIST_DIR}/FanfareTargets.cmake")
