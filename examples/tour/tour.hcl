# A task that is scored rather than passed: a round trip through all towns, as short as can
# be. The judge adds up the lengths; less is better.
#
#   assayd run examples/tour/tour.hcl

benchmark "tour" {
  description = "Optimisation: a score without an upper end, and lower is better"

  task "towns" {
    title       = "A short round trip"
    image       = "assayd-base/python:1"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths = ["tour.py"]
    }
    work {
      context = "skeleton"
    }
    judge {
      context   = "judge"
      command   = ["python3", "judge/measure.py"]
      parser    = "score_sum"   # CASE lines and a TOTAL_SCORE
      select    = "score_first" # the best round is the one with the best score
      direction = "minimize"
      feedback  = "names"
      timeout   = "1m"

      rescale { # 0 is to take the towns as they come, 100 is near the best that is known
        kind     = "min_linear"
        baseline = 241387
        expert   = 27000
      }
    }
    solution {
      context = "solution"
    }
  }
}

agent "improver" { # goes through the towns as they come, and then does better
  dir     = "agent"
  command = ["sh", "/agent/improve.sh"]
}

run "tour" {
  tasks = [benchmark.tour]

  agent "improver" {}
  agent "oracle" {}
  agent "nop" {}

  timeout   = "5m"
  auto_eval = "0s"
  parallel  = 3

  work {
    cpus = 0.5
  }
  judge {
    cpus = 0.5
  }
}
