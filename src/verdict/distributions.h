// Quantiles of the distributions that the intervals rest on. The only user of Boost.Math.
#pragma once

namespace kvet::verdict {

// q with P(T ≤ q) = probability, T Student's t with that many degrees of freedom (> 0); 0 < probability < 1.
double t_quantile(double probability, double degrees_of_freedom);

// Half the width of a two-sided interval, in standard errors: t_quantile((1 + confidence) ÷ 2, …).
double t_half_width(double confidence, double degrees_of_freedom);

// P(T ≤ value).
double t_probability(double value, double degrees_of_freedom);

}  // namespace kvet::verdict
