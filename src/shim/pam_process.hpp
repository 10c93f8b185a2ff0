// The process that has the PAM session of a run: service "tangram", opened as root before the job
// starts and closed when the job's processes are gone, or when the shim has died. Modules run in
// this process only, so one that hangs or crashes harms neither the shim nor the job. What they
// give to the job (variables, groups, resource limits, niceness) is reported; what else they change
// in their process (namespaces, SELinux context, control group) the job does not get.
#pragma once

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "shim/helper_process.hpp"

namespace tangram::shim {

inline constexpr const char* kPamService = "tangram";

// Starts it; spec.pam is set. Its status is lines of JSON: one when the session is open or was
// refused, {"error":"…"} or {"environment":{…},"groups":[…],"limits":{"nofile":[soft,hard],…},
// "niceness":N}, and {"closed":"…"} with a problem or "" when it was closed. To close it, close the
// input.
[[nodiscard]] Result<HelperProcess> start_pam_process(const api::RunSpec& spec);

}  // namespace tangram::shim
