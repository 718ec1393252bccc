# A benchmark in SForge's format, and what `sforge run --experiment` said as a spec.
#
#   assayd run examples/sforge/sforge.hcl

benchmark "puzzles" {
  import "sforge" {
    path = "tasks" # BENCHMARK.yaml and a JSON file for each task, as they are
  }
}

agent "packer" {
  dir     = "agent"
  command = ["/bin/bash", "/agent/solve.sh"]
}

run "sforge" {
  tasks   = [benchmark.puzzles]
  include = ["*"] # --task A B; left out: --all

  agent "packer" {} # --agent
  agent "nop" {}

  timeout   = "5m" # --timeout 300
  auto_eval = "1m" # --eval-interval 60
  parallel  = 2    # --max-workers 2

  submissions {
    max      = 5    # --max-submissions 5
    cooldown = "1s" # --submission-cooldown 1
  }
  work { # --work-cpu-limit, --work-mem-limit
    cpus   = 0.5
    memory = "1GiB"
  }
  judge { # --judge-cpu-limit, --judge-mem-limit
    cpus   = 0.5
    memory = "1GiB"
  }
}
