# Text files as part of the program: tangram_embed(out.cpp namespace function dir patterns…) writes a
# source file that returns every matching file below dir with its path. One rule: a file that changes
# makes CMake run again.
function(tangram_embed output namespace function header directory)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${directory} ${ARGN})
  list(SORT files)
  set(rows "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${directory}/${file})
    file(READ ${directory}/${file} text)
    string(APPEND rows "      {\"${file}\", R\"~~~(${text})~~~\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "// Made by cmake/TangramEmbed.cmake.
#include \"${header}\"

namespace ${namespace} {

// NOLINTNEXTLINE(readability-function-size): it is data
const std::vector<EmbeddedFile>& ${function}() {
  static const std::vector<EmbeddedFile> files{
@rows@  };
  return files;
}

}  // namespace ${namespace}
" @ONLY)
endfunction()
