// For tests only: a recorder that writes planted captures, and a server that answers, both inside the test program.
#pragma once

#include <string>

#include "model/capture.h"

namespace kvet::validate::testing {

// Writes a capture that exists in memory to a file.
bool write_capture(const Capture& capture, const std::string& path);

// `PROGRAM record -o FILE … -- COMMAND`: runs the command in a process group of its own, passes signals on, and leaves a
// capture whose kernels are decided by NORM=stock or NORM=generated among the command's words. Its events begin when the
// file $KVET_TEST_STAMP was touched. `PROGRAM serve PORT` answers every request with 200 until it is interrupted.
// −1: neither was asked for.
int planted_program(int count, char** arguments);

}  // namespace kvet::validate::testing
