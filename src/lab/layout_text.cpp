// See layout_text.hpp.
#include "lab/layout_text.hpp"

namespace tangram::lab {

std::string layout_text(const sim::Setting& setting) {
  std::string text;
  for (const sim::GpuSetting& gpu : setting.gpus) {
    if (!text.empty()) text += " | ";
    const char* blank = "";
    for (const mig::Placement& p : gpu.layout) {
      text += blank + gpu.model->profile(p.profile).name;
      blank = " ";
    }
  }
  return text;
}

}  // namespace tangram::lab
