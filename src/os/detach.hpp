// Detaching a process from its parent, for programs that outlive it (shim, endpoint): inherited
// descriptors and the session.
#pragma once

namespace tangram::os {

// Opens /dev/null on those of descriptors 0 to 2 that are closed, so that no later open() gets one.
void open_standard_streams();

// Closes all descriptors from 3 on except `kept`, which becomes close-on-exec. `kept` below 3: none
// is kept.
void close_other_descriptors(int kept);

// Makes the process the leader of a new session, even if it is a process group leader.
void start_session();

}  // namespace tangram::os
