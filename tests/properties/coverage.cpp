// See world.hpp: counts of what a world has covered.
#include "world.hpp"

namespace tangram::properties {
namespace {

template <class Row>
void add_to(Row& row, const Row& other) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] += other[i];
}
template <class Enum>
std::size_t place(Enum value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

void Coverage::add(const Coverage& other) {
  add_to(events, other.events);
  add_to(actions, other.actions);
  add_to(failures, other.failures);
  add_to(job_news, other.job_news);
  add_to(move_news, other.move_news);
  add_to(gpu_news, other.gpu_news);
  add_to(cancelled_in, other.cancelled_in);
}

void Coverage::count(const core::Node& before, const core::Event& event) {
  ++events[event.index()];
  if (const auto* e = std::get_if<core::ActionFailed>(&event)) ++failures[place(e->kind)];
  if (const auto* e = std::get_if<core::JobCancelled>(&event)) {
    const core::JobSlot s = before.find_job(e->job);
    if (s != core::kNoJob) ++cancelled_in[place(before.job(s).move)];
  }
}

void Coverage::count(const core::Actions& taken) {
  for (const core::Action& action : taken) {
    ++actions[action.index()];
    if (const auto* a = std::get_if<core::JobReport>(&action)) ++job_news[place(a->news)];
    if (const auto* a = std::get_if<core::MoveReport>(&action)) ++move_news[place(a->news)];
    if (const auto* a = std::get_if<core::GpuReport>(&action)) ++gpu_news[place(a->news)];
  }
}

}  // namespace tangram::properties
