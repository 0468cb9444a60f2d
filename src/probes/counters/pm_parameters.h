// How CUPTI's performance-monitor calls take their parameters.
#pragma once

#include "abi/vendor/cupti_pm.h"

// A parameter structure with its size filled in, as every CUPTI call wants it. (Types and names take no parentheses.)
#define KVET_PM_PARAMETERS(type, last, variable)         \
  struct type variable{}; /* NOLINT(bugprone-macro-*) */ \
  (variable).struct_size = KVET_PM_SIZE(type, last)
