// What a process got from whoever started it, for programs that outlive him: his open files, his
// session. One rule: nothing of it is kept but what is named.
#pragma once

namespace tangram::files {

// Descriptors 0 to 2 are open from here on, so that no file of ours becomes one of them.
void fill_standard_streams();

// All descriptors from 3 on; `kept` (below 3: none) is not passed on to children.
void close_all_but(int kept);

void make_session();

}  // namespace tangram::files
