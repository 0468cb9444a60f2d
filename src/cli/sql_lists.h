// What `kvet sql --list` and `--views` print.
#pragma once

#include "cli/options.h"
#include "cli/row_output.h"

namespace kvet::cli {

void list_queries(SqlFormat format, RowOutput& output);
void list_views(SqlFormat format, RowOutput& output);

}  // namespace kvet::cli
