// The definitions of the commands that turn files into other files; arguments.cpp has the rest.
#pragma once

#include "cli/options.h"

namespace CLI {
class App;
}

namespace kvet::cli {

void define(CLI::App& app, ImportOptions& options);
void define(CLI::App& app, MergeOptions& options);
void define(CLI::App& app, ExportOptions& options);
void define(CLI::App& app, SqlOptions& options);

}  // namespace kvet::cli
