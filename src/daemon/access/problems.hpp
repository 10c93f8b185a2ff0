// The problems that the daemon answers with, each with its HTTP status and type (docs/api.md).
// Programs distinguish them by type; `detail` is for people.
#pragma once

#include <string>
#include <utility>

#include "api/problem.hpp"

namespace tangram::daemon {

// For a bad token; does not reveal which part of it is wrong.
inline api::Problem unauthorized() {
  return {401, "urn:tangram:unauthorized", "Not authenticated",
          "invalid token (unknown, expired or revoked)."};
}
inline api::Problem forbidden(std::string detail) {
  return {403, "urn:tangram:forbidden", "Not allowed", std::move(detail)};
}
inline api::Problem missing(std::string detail) {
  return {404, "urn:tangram:not-found", "Not found", std::move(detail)};
}
inline api::Problem conflict(std::string detail) {
  return {409, "urn:tangram:conflict", "Conflict", std::move(detail)};
}
inline api::Problem no_room(std::string detail) {
  return {409, "urn:tangram:no-room", "No room", std::move(detail)};
}
inline api::Problem not_ready(std::string detail) {
  return {409, "urn:tangram:not-ready", "Not ready yet", std::move(detail)};
}
inline api::Problem out_of_service(std::string detail) {
  return {409, "urn:tangram:out-of-service", "Out of service", std::move(detail)};
}
inline api::Problem lease_ended(std::string detail) {
  return {409, "urn:tangram:lease-over", "The lease has ended", std::move(detail)};
}
inline api::Problem too_many(std::string detail) {
  return {429, "urn:tangram:too-many", "Limit reached", std::move(detail)};
}
inline api::Problem key_reused(std::string detail) {
  return {422, "urn:tangram:key-reused", "Idempotency key reused", std::move(detail)};
}
inline api::Problem bad_dependency(std::string detail) {
  return {422, "urn:tangram:bad-dependency", "Dependency not found", std::move(detail)};
}
inline api::Problem unservable(std::string detail) {
  return {422, "urn:tangram:unservable", "Cannot be served by this node", std::move(detail)};
}
inline api::Problem unavailable(std::string detail) {
  return {503, "urn:tangram:unavailable", "Not available now", std::move(detail)};
}

}  // namespace tangram::daemon
