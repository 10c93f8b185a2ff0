# How a room becomes a library and a test beside the code becomes a ctest entry, and the
# flags all of our targets share. One rule: targets get their flags from tangram_flags only.

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are made anew at another time; ccache must look at what they hold instead.
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

# For whoever uses precompiled headers: ccache asks for the first; the others g++ 12 reports falsely
# of the standard library's strings when it does not see them as a system's header.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(TANGRAM_PRECOMPILED_FLAGS -fpch-preprocess
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# tangram_room(mig USES base [LINKS fmt::fmt] [PRECOMPILES <fmt/format.h>]): src/mig/*.cpp without the
# tests. Precompiled are headers of others that most files of the room need and that take long.
function(tangram_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LINKS;PRECOMPILES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$")
  list(TRANSFORM ROOM_USES PREPEND tangram_)
  add_library(tangram_${name} STATIC ${sources})
  target_link_libraries(tangram_${name} PUBLIC tangram_flags ${ROOM_USES} ${ROOM_LINKS})
  if(ROOM_PRECOMPILES)
    target_precompile_headers(tangram_${name} PRIVATE ${ROOM_PRECOMPILES})
    target_compile_options(tangram_${name} PRIVATE ${TANGRAM_PRECOMPILED_FLAGS})
  endif()
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*_test.cpp)
  if(BUILD_TESTING AND tests)
    tangram_test(${name}_test SOURCES ${tests} LINKS tangram_${name})
  endif()
endfunction()

# In builds for daily work, what is compiled often and runs little is not optimised: the tests, and
# the room that prints. Half of the time of a build from nothing goes there.
set(TANGRAM_QUICK "" CACHE STRING "Flags of tests and of the rooms that take longest to build, as -O0")

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

# tangram_test(name [OPTIMISED] SOURCES a.cpp LINKS lib…): a GoogleTest program, one ctest entry per
# case. Optimised are those that compute a lot themselves.
function(tangram_test name)
  cmake_parse_arguments(TEST "OPTIMISED" "" "SOURCES;LINKS" ${ARGN})
  include(GoogleTest)
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE tangram_flags ${TEST_LINKS} GTest::gmock GTest::gtest_main)
  if(NOT TEST_OPTIMISED)
    target_precompile_headers(${name} REUSE_FROM tangram_test_headers)
    target_compile_options(${name} PRIVATE ${TANGRAM_QUICK} ${TANGRAM_PRECOMPILED_FLAGS})
  endif()
  target_compile_definitions(${name} PRIVATE
    TANGRAM_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests" TANGRAM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
