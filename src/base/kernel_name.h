// The parts of a kernel's name by which tools that print it differently can be brought together.
#pragma once

#include <string>
#include <string_view>

namespace kvet {

// The identifier of the function: "scale" of "void math::scale<float, 4>(float*, int)" and of "scale[v1](int)". Lambdas and what else has no
// identifier come back whole.
[[nodiscard]] std::string_view function_name(std::string_view decoded);

// The qualified name with its template arguments, without return type and parameters, and without what tools write differently there:
// spaces and casts of numbers ("(int)4"). "math::scale<float,4>" of the above.
[[nodiscard]] std::string instantiation(std::string_view decoded);

}  // namespace kvet
