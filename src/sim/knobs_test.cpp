// The knobs by name: each can be set to both of its bounds and to nothing beyond; an error says
// what is allowed, and changes nothing.
#include "sim/knobs.hpp"

#include <cstddef>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"

namespace tangram::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text_of(double value) {
  std::string text(32, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.17g", value)));
  return text;
}

std::string refusal(std::string_view assignment) {
  Knobs knobs;
  const auto result = set_knob(knobs, assignment);
  EXPECT_FALSE(result.has_value()) << assignment;
  for (const Knob& knob : knob_table()) {
    EXPECT_EQ(knobs.*knob.value, Knobs().*knob.value) << assignment << " turned " << knob.name;
  }
  return result ? "" : result.error().message;
}

// As many rows as Knobs has members.
TEST(Knobs, TheTableHasEachKnobOnce) {
  EXPECT_EQ(knob_table().size() * sizeof(double), sizeof(Knobs));
  std::set<std::string_view> names;
  std::vector<double Knobs::*> members;
  for (const Knob& knob : knob_table()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name << " is there twice";
    for (const auto member : members) EXPECT_NE(member, knob.value) << knob.name;
    members.push_back(knob.value);
    EXPECT_FALSE(knob.summary.empty()) << knob.name;
    EXPECT_LE(knob.lowest, Knobs().*knob.value) << knob.name;
    EXPECT_GE(knob.highest, Knobs().*knob.value) << knob.name;
  }
}

TEST(Knobs, EachCanBeSetByNameAndAlone) {
  for (const Knob& knob : knob_table()) {
    for (const double value : {knob.lowest, knob.highest, (knob.lowest + knob.highest) / 2}) {
      Knobs knobs;
      ASSERT_TRUE(set_knob(knobs, cat(knob.name, '=', text_of(value)))) << knob.name;
      for (const Knob& other : knob_table()) {
        const double expected = other.name == knob.name ? value : Knobs().*other.value;
        EXPECT_EQ(knobs.*other.value, expected) << other.name << " after setting " << knob.name;
      }
    }
  }
}

TEST(Knobs, NumbersMayBeWrittenWithAnExponent) {
  Knobs knobs;
  ASSERT_TRUE(set_knob(knobs, "kv_tokens=2.5e3"));
  EXPECT_EQ(knobs.kv_tokens, 2500);
}

TEST(Knobs, AnUnknownNameIsAnsweredWithTheNearestAndAll) {
  const std::string message = refusal("link_gbs=12");
  EXPECT_THAT(message, HasSubstr("unknown knob 'link_gbs'; did you mean link_gbps?"));
  for (const Knob& knob : knob_table()) EXPECT_THAT(message, HasSubstr(std::string(knob.name)));
  EXPECT_THAT(refusal("xyzzy_plugh=1"), AllOf(HasSubstr("unknown knob"), HasSubstr("Known:")));
  const auto found = find_knob("nothing_like_it_at_all");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
}

TEST(Knobs, WhatIsNotANumberIsRefused) {
  for (const char* bad :
       {"", "x", "1x", " 1", "1 ", "1,5", "nan", "inf", "-inf", "1e999", "0x10"}) {
    const std::string message = refusal(cat("link_gbps=", bad));
    EXPECT_THAT(message, AllOf(HasSubstr("link_gbps takes a number from"), HasSubstr(quoted(bad))));
  }
}

TEST(Knobs, OutOfRangeIsRefusedAtBothEnds) {
  for (const Knob& knob : knob_table()) {
    const double step = (knob.highest - knob.lowest) / 1000;
    for (const double value : {knob.lowest - step, knob.highest + step}) {
      EXPECT_THAT(refusal(cat(knob.name, '=', text_of(value))),
                  HasSubstr(cat("the knob ", knob.name, " takes a number from")));
    }
  }
}

TEST(Knobs, WithoutAnEqualsSignTheFormIsExplained) {
  EXPECT_THAT(refusal("link_gbps"), AllOf(HasSubstr("'link_gbps'"), HasSubstr("NAME=NUMBER")));
  EXPECT_THAT(refusal(""), HasSubstr("NAME=NUMBER"));
}

}  // namespace
}  // namespace tangram::sim
