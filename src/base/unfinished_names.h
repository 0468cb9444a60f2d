// The names under which unfinished output lies, so that a signal which ends kvet leaves none of it behind.
#pragma once

#include <string>

namespace kvet {

// A file (with SQLite's side files) or a folder (with the files in it). What is beyond 16 names, or longer than a path may
// be, is not remembered.
void remember_unfinished(const std::string& name);
void forget_unfinished(const std::string& name);

// For commands that write files and start nothing: from now on SIGINT, SIGTERM and SIGHUP (those that are not ignored)
// remove what is remembered and end the process with status 75, after a line on stderr. SIGXFSZ is ignored: beyond a limit on
// the size of files a write fails then, as on a full disk.
void remove_unfinished_on_signals();

}  // namespace kvet
