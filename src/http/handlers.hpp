// The functions behind the table in routes.cpp. Private to the routes.
#pragma once

#include "http/exchange.hpp"

namespace tangram::http {

Outcome post_job(const Doors& doors, const Request& request);
Outcome get_jobs(const Doors& doors, const Request& request);
Outcome get_job(const Doors& doors, const Request& request);
Outcome post_cancel(const Doors& doors, const Request& request);
Outcome post_signal(const Doors& doors, const Request& request);
Outcome get_wait(const Doors& doors, const Request& request);
Outcome get_logs(const Doors& doors, const Request& request);
Outcome get_gpus(const Doors& doors, const Request& request);
Outcome get_status(const Doors& doors, const Request& request);
Outcome get_health(const Doors& doors, const Request& request);

// The body as JSON, if it is said to be.
[[nodiscard]] Answer<boost::json::value> json_body(const Request& request);
[[nodiscard]] Response bad_request(const Error& error);

}  // namespace tangram::http
