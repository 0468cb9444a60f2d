#include "verdict/distributions.h"

#include <boost/math/distributions/students_t.hpp>

namespace kvet::verdict {

double t_quantile(double probability, double degrees_of_freedom) {
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), probability);
}

double t_half_width(double confidence, double degrees_of_freedom) {
  return t_quantile((1 + confidence) / 2, degrees_of_freedom);
}

double t_probability(double value, double degrees_of_freedom) {
  return boost::math::cdf(boost::math::students_t(degrees_of_freedom), value);
}

}  // namespace kvet::verdict
