#include "validate/plan.h"

namespace kvet::validate {

const char* const plan_template =
    R"plan(# A plan for `kvet validate`. It runs both arms in turn inside the real workload, records each, and says what is left of
# the claim. Commands run in this file's folder, through /bin/sh. docs/plan.md explains every key.

# What was claimed: baseline time ÷ candidate time. "38%" is refused, since it may mean 1.38 or 1.61.
# Or a result of a benchmark, "FILE#ID": docs/claims.md.
claim = 1.38

# The kernels are found by themselves: what only one arm runs. Name them only where that is not enough.
# kernels = ["rms_norm", "generated_norm"]

[workload]
# Either a server that is put under load …
server = "python serve.py --port 8000"
ready  = "http://127.0.0.1:8000/health"       # asked until it answers; on this machine
# warmup = "python load.py --port 8000 --requests 50 --seed 2"
load   = "python load.py --port 8000 --requests 400 --seed 1"
# … or a program that does its work and ends:
# run = "python train.py --steps 200"
# warmup = "5s"                               # this much of the run does not count

# The workload's own figure, from what the load (or the program) prints: it guards the end to end.
metric = { regex = 'throughput: ([0-9.]+) tok/s', better = "higher" }

# step = "decode"                             # the NVTX range that is one step; else the most frequent one
# timeout = "30m"                             # of one load, run or check
# ready_timeout = "10m"

[baseline]
env = { NORM = "stock" }
# check = "python check_norm.py"              # exits 0 when the results are right

[candidate]
env   = { NORM = "generated" }
check = "python check_norm.py"

# The microbenchmark behind the claim, repeated here in each arm's environment.
# [isolated]
# run    = "python bench_norm.py"
# metric = { regex = 'time: ([0-9.]+) us', better = "lower" }

# [gpu]
# device   = "0"                              # CUDA_VISIBLE_DEVICES of both arms
# counters = "pm"                             # "pm", "gpm" or "off"

# [budget]
# overhead = "5%"                             # what recording may cost before the verdict is REFUSED
# time     = "1h"
)plan";

}  // namespace kvet::validate
