# tangram_module() and tangram_test(): how a module becomes a library and its tests become ctest
# entries. Every target gets its compiler flags from tangram_flags.

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers get a new time stamp with every build; ccache must hash their content instead.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(tangram_flags INTERFACE)
target_include_directories(tangram_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tangram_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 sees an overlap in every "text" + std::string that it inlines (GCC bug 105651).
  target_compile_options(tangram_flags INTERFACE -Wno-restrict)
  if(CMAKE_UNITY_BUILD)
    # In a unity build it takes .cpp files for headers, where it dislikes lambdas in coroutines, and
    # inlines more, so that it reports std::expected falsely.
    target_compile_options(tangram_flags INTERFACE -Wno-subobject-linkage -Wno-maybe-uninitialized)
  endif()
endif()
target_compile_definitions(tangram_flags INTERFACE TANGRAM_VERSION="${PROJECT_VERSION}")
if(TANGRAM_SANITIZE)
  set(flags -fsanitize=${TANGRAM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(tangram_flags INTERFACE ${flags})
  target_link_options(tangram_flags INTERFACE ${flags})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ 12 reports these falsely when the sanitizers split its control flow.
    target_compile_options(tangram_flags INTERFACE
      -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
  endif()
endif()
if(TANGRAM_SANITIZE MATCHES thread)
  # The thread sanitizer does not understand fences. Asio's are beside its mutexes, which it does.
  target_compile_definitions(tangram_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
if(TANGRAM_COVERAGE)
  target_compile_options(tangram_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(tangram_flags INTERFACE --coverage)
endif()
if(TANGRAM_FUZZ)
  target_compile_options(tangram_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# For targets with precompiled headers. ccache needs the first flag; g++ 12 reports the other warnings
# falsely for std::string when its header is precompiled, because it is no system header then.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(TANGRAM_PRECOMPILED_FLAGS -fpch-preprocess
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# With CMAKE_UNITY_BUILD, g++ reads the .cpp files of a folder as one file, at most 15 at a time:
# headers that all of them include take most of the time of a build from nothing.
function(tangram_unity_groups target)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND folders ${folder})
    list(APPEND sources_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(LENGTH sources_${folder} count)
    math(EXPR groups "(${count} + 14) / 15")
    set(index 0)
    foreach(source ${sources_${folder}})
      math(EXPR group "${index} * ${groups} / ${count} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# tangram_module(mig USES base [LINKS fmt::fmt] [PRECOMPILES <fmt/format.h>]): a static library of
# src/mig/**/*.cpp without main.cpp and tests, and a test program of src/mig/**/*_test.cpp.
# PRECOMPILES: slow headers that most files of the module include; a unity build reads them once anyway.
function(tangram_module name)
  cmake_parse_arguments(MODULE "" "" "USES;LINKS;PRECOMPILES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$")
  list(TRANSFORM MODULE_USES PREPEND tangram_)
  add_library(tangram_${name} STATIC ${sources})
  tangram_unity_groups(tangram_${name} ${sources})
  target_link_libraries(tangram_${name} PUBLIC tangram_flags ${MODULE_USES} ${MODULE_LINKS})
  if(MODULE_PRECOMPILES AND NOT CMAKE_UNITY_BUILD)
    target_precompile_headers(tangram_${name} PRIVATE ${MODULE_PRECOMPILES})
    target_compile_options(tangram_${name} PRIVATE ${TANGRAM_PRECOMPILED_FLAGS})
  endif()
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*_test.cpp)
  if(BUILD_TESTING AND tests)
    tangram_test(${name}_test SOURCES ${tests} LINKS tangram_${name})
  endif()
endfunction()

# The dev preset does not optimise code that is compiled often and runs little: the tests and the I/O
# modules. Half of the time of a build from nothing goes there.
set(TANGRAM_QUICK "" CACHE STRING "Flags of tests and of the modules that take longest to build, e.g. -O0")

# The headers of GoogleTest cost a test file more than its own code does; all programs share one
# precompiled form of them. (What is defined differently for them is not used there.)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp "// Nothing but its headers.\n")
  add_library(tangram_test_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp)
  target_link_libraries(tangram_test_headers PRIVATE tangram_flags GTest::gmock)
  target_compile_options(tangram_test_headers PRIVATE ${TANGRAM_QUICK})
  target_precompile_headers(tangram_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# Defines paths of this checkout and of its programs for those sources that name them, not for a whole
# target: ccache shares the other object files between checkouts. After naming one in a further file, configure again.
function(tangram_define_paths)
  foreach(source ${ARGN})
    foreach(path TANGRAM_SOURCE_DIR=${PROJECT_SOURCE_DIR} TANGRAM_TESTS_DIR=${PROJECT_SOURCE_DIR}/tests
        TANGRAM_BINARY=$<TARGET_FILE:tangram> TANGRAMD_BINARY=$<TARGET_FILE:tangramd>
        TANGRAM_LLM_SERVER=$<TARGET_FILE:llm-server> TANGRAM_TRAIN=${PROJECT_BINARY_DIR}/examples/train.sh)
      string(REPLACE "=" ";" path ${path})
      list(GET path 0 name)
      list(GET path 1 value)
      file(STRINGS ${source} found REGEX "${name}[^A-Z_]|${name}$" LIMIT_COUNT 1)
      if(found)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ${name}="${value}")
      endif()
    endforeach()
  endforeach()
endfunction()

# tangram_test(name [OPTIMISED] SOURCES a.cpp LINKS lib…): a GoogleTest program, one ctest entry per
# case. Optimised are those that compute a lot themselves.
function(tangram_test name)
  cmake_parse_arguments(TEST "OPTIMISED" "" "SOURCES;LINKS" ${ARGN})
  include(GoogleTest)
  add_executable(${name} ${TEST_SOURCES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)  # each file has its own fixtures
  target_link_libraries(${name} PRIVATE tangram_flags ${TEST_LINKS} GTest::gmock GTest::gtest_main)
  if(NOT TEST_OPTIMISED)
    target_precompile_headers(${name} REUSE_FROM tangram_test_headers)
    target_compile_options(${name} PRIVATE ${TANGRAM_QUICK} ${TANGRAM_PRECOMPILED_FLAGS})
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})  # "tests/support/…"
  tangram_define_paths(${TEST_SOURCES})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
