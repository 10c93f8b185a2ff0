// Quantiles of the request and response tokens of BurstGPT conversations, at 0, 1, …, 100 %, so
// that the paper's workloads can be generated without the trace. From 744 cleaned rows: failures
// (no request or response tokens) and rows above 2,048 tokens, the context limit of OPT, are
// dropped; that rule is ours, the paper only says that outliers are excluded. Requests and
// responses are hardly correlated there (Spearman 0.12), so they are drawn independently. Facts
// only; no row of the data set.
#pragma once

#include <array>

namespace tangram::sim {

using Quantiles = std::array<double, 101>;

// "Long" (§V-A) is the upper half by total tokens.
inline constexpr double kLongFromTokens = 492;
inline constexpr double kMaxTokens = 2048;

inline constexpr Quantiles kRequestTokens = {
    8.0,    11.4,   14.0,   15.3,   17.0,  18.1,   19.0,   20.0,   22.0,   22.0,   24.0,   25.0,
    27.0,   29.0,   31.0,   33.5,   36.0,  37.0,   40.0,   42.0,   45.6,   50.0,   56.5,   61.9,
    66.0,   69.0,   74.0,   81.0,   88.0,  93.0,   99.9,   104.0,  115.0,  123.6,  135.2,  145.0,
    150.0,  161.0,  165.3,  171.8,  182.4, 190.6,  201.1,  210.0,  228.8,  246.0,  250.6,  264.0,
    271.0,  282.1,  296.5,  307.9,  318.7, 340.2,  349.7,  356.0,  370.0,  383.5,  394.9,  413.9,
    424.4,  434.5,  450.3,  462.2,  472.0, 488.7,  498.0,  505.8,  523.0,  534.3,  560.0,  566.1,
    585.0,  597.2,  609.8,  657.2,  675.7, 704.1,  722.5,  737.9,  773.4,  805.5,  836.3,  854.7,
    887.5,  930.0,  943.0,  971.0,  994.5, 1064.3, 1104.3, 1138.1, 1212.6, 1270.9, 1305.4, 1356.4,
    1416.3, 1470.7, 1516.3, 1603.0, 1779.0};

inline constexpr Quantiles kResponseTokens = {
    2.0,   4.4,   6.9,   9.0,   11.0,  13.0,  14.0,  15.0,  15.0,   16.0,  18.0,  19.0,  22.2,
    23.6,  26.0,  27.0,  29.0,  30.0,  32.0,  34.0,  35.0,  37.0,   40.5,  43.0,  45.0,  46.8,
    50.0,  53.6,  55.0,  56.5,  58.0,  59.3,  62.0,  66.2,  69.0,   70.1,  74.5,  77.0,  80.0,
    82.0,  86.2,  90.0,  93.0,  96.0,  102.8, 104.7, 110.8, 114.0,  118.6, 126.0, 135.0, 142.9,
    146.4, 152.0, 157.2, 163.0, 171.0, 180.5, 185.9, 191.4, 197.0,  201.2, 207.7, 213.1, 220.5,
    229.9, 235.8, 241.8, 249.7, 259.7, 268.0, 275.5, 282.0, 292.0,  297.0, 299.2, 310.7, 318.1,
    326.0, 331.0, 339.0, 342.0, 354.5, 369.4, 382.0, 392.6, 409.9,  416.8, 435.8, 449.1, 471.4,
    496.0, 513.6, 541.0, 589.4, 638.4, 723.8, 804.8, 918.7, 1097.1, 1656.0};

}  // namespace tangram::sim
