// The verbs below `tangram lease`, and how a lease looks to people.
#pragma once

#include "api/lease.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace tangram::cli {

void print(const api::LeaseView& lease, Output& out);

void add_lease_list(Verb& lease, Command& command);
void add_lease_show(Verb& lease, Command& command);
void add_lease_renew(Verb& lease, Command& command);
void add_lease_release(Verb& lease, Command& command);

}  // namespace tangram::cli
