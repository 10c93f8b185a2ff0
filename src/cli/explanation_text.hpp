// How an explanation looks to people: the daemon's sentences, and the slots that were compared. One
// rule: the answer is the first line.
#pragma once

#include <string>
#include <vector>

#include "api/explanation.hpp"
#include "cli/output.hpp"

namespace tangram::cli {

void print(const api::Explanation& explanation, Output& out);
void print(const api::WhatIf& what_if, Output& out);

}  // namespace tangram::cli
