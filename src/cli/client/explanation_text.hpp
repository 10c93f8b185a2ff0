// Prints explanations: first the answer in one line, then the daemon's sentences, then the compared
// slots as a table.
#pragma once

#include <string>
#include <vector>

#include "api/explanation.hpp"
#include "cli/command/output.hpp"

namespace tangram::cli {

void print(const api::Explanation& explanation, Output& out);
void print(const api::WhatIf& what_if, Output& out);

}  // namespace tangram::cli
