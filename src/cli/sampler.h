// The hidden subcommand `kvet __sampler`: the child process that samples hardware counters for the recorder. main()
// hands over before it parses anything else, so that the child stays free of the rest of the program.
#pragma once

namespace kvet::cli {

// argv[0] is the program, argv[1] is "__sampler". Returns the exit status.
int run_sampler(int argument_count, char** arguments);

}  // namespace kvet::cli
