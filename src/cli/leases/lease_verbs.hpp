// The verbs below `tangram lease`, and the text form of a lease.
#pragma once

#include "api/lease.hpp"
#include "cli/command/output.hpp"
#include "cli/command/verbs.hpp"

namespace tangram::cli {

void print(const api::LeaseView& lease, Output& out);

void add_lease_list(Verb& lease, Command& command);
void add_lease_show(Verb& lease, Command& command);
void add_lease_renew(Verb& lease, Command& command);
void add_lease_release(Verb& lease, Command& command);

}  // namespace tangram::cli
