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
if(TANGRAM_COVERAGE)
  target_compile_options(tangram_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(tangram_flags INTERFACE --coverage)
endif()
if(TANGRAM_FUZZ)
  target_compile_options(tangram_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tangram_room(mig USES base [LINKS fmt::fmt] [PRECOMPILES <CLI/CLI.hpp>]): src/mig/*.cpp without the
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
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(tangram_${name} PRIVATE -fpch-preprocess)  # ccache asks for it
    endif()
  endif()
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*_test.cpp)
  if(BUILD_TESTING AND tests)
    tangram_test(${name}_test SOURCES ${tests} LINKS tangram_${name})
  endif()
endfunction()

# tangram_test(name SOURCES a.cpp LINKS lib…): a GoogleTest program, one ctest entry per case.
function(tangram_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINKS" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE tangram_flags ${TEST_LINKS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    TANGRAM_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests" TANGRAM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
