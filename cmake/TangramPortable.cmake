# With TANGRAM_PORTABLE (preset `package`) one set of programs runs on Debian 12 and 13, Ubuntu 22.04 and 24.04 and
# their derivatives: the C++ libraries, whose names and ABIs differ between releases, are linked in; what every release
# has with the same ABI, and must keep safe (OpenSSL 3, libsystemd, ncurses, libgcc_s, glibc), stays dynamic.
# packaging/check-programs shows that nothing else is needed. Include it before the libraries are looked for.
#
# - fmt, spdlog and toml++ are used as headers (tangram_use_headers_only).
# - Boost.JSON, SQLiteCpp, SQLite: Debian's .a. prometheus-cpp: Debian has no .a, so the core is built from Debian's
#   source package, unpacked by tools/package (TANGRAM_PROMETHEUS_SOURCE).
# - libstdc++ is linked in, libgcc_s is not: libgcc_eh.a of Debian 12 would bind _dl_find_object of glibc 2.35. For
#   arc4random of glibc 2.36, see packaging/portable/arc4random.c.
set(Boost_USE_STATIC_LIBS ON)
find_library(SQLite3_LIBRARY NAMES libsqlite3.a REQUIRED)
set(TANGRAM_PROMETHEUS_SOURCE "" CACHE PATH "Source package of prometheus-cpp, unpacked")
if(NOT EXISTS ${TANGRAM_PROMETHEUS_SOURCE}/core/src/registry.cc)
  message(FATAL_ERROR "TANGRAM_PROMETHEUS_SOURCE='${TANGRAM_PROMETHEUS_SOURCE}' is not the source of prometheus-cpp. "
    "tools/package unpacks it and configures this preset.")
endif()

set(map -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${TANGRAM_PROMETHEUS_SOURCE}=prometheus-cpp)
# With _FORTIFY_SOURCE glibc marks more results as not to be ignored (fchmodat); the code ignores them on purpose.
set(hardening -Wno-unused-result -fstack-protector-strong -fstack-clash-protection -fcf-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
add_compile_options(${map} ${hardening})
add_link_options(-static-libstdc++ -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,--build-id=sha1)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# No path of the build machine in the programs.
set(CMAKE_SKIP_RPATH ON)

# For the targets that find_package() has defined: --as-needed drops their libraries.
function(tangram_use_headers_only)
  set_target_properties(spdlog::spdlog PROPERTIES INTERFACE_COMPILE_DEFINITIONS SPDLOG_FMT_EXTERNAL)
  set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
  set_target_properties(tomlplusplus::tomlplusplus PROPERTIES INTERFACE_COMPILE_OPTIONS -DTOML_HEADER_ONLY=1)
endfunction()

# The core of prometheus-cpp, compiled against the headers of prometheus-cpp-dev, of the same version.
file(GLOB prometheus_sources ${TANGRAM_PROMETHEUS_SOURCE}/core/src/*.cc ${TANGRAM_PROMETHEUS_SOURCE}/core/src/detail/*.cc)
add_library(prometheus_core STATIC ${prometheus_sources})
target_compile_definitions(prometheus_core PUBLIC PROMETHEUS_CPP_CORE_STATIC_DEFINE)
target_include_directories(prometheus_core PRIVATE ${TANGRAM_PROMETHEUS_SOURCE}/core/include)
set_target_properties(prometheus_core PROPERTIES UNITY_BUILD OFF)
add_library(prometheus-cpp::core ALIAS prometheus_core)

# -u: libstdc++.a, which needs the function, comes last, when the linker has passed this library.
add_library(tangram_portable STATIC ${PROJECT_SOURCE_DIR}/packaging/portable/arc4random.c)
link_libraries(tangram_portable)
add_link_options(-Wl,-u,arc4random)
