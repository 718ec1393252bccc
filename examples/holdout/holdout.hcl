# A private set: tests that are run once, at the end, and never fed back. The agent that
# learns the feedback by heart has every open test right, and loses.
#
#   assayd run examples/holdout/holdout.hcl

benchmark "holdout" {
  description = "Who understands the task, and who only its tests?"

  task "week" {
    title       = "The day of the week"
    image       = "assayd-base/python:1"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths = ["week.py"]
    }
    work {
      context = "skeleton"
    }
    judge {
      context  = "judge"
      command  = "python3 -m pytest -q visible"
      parser   = "pytest"
      feedback = "full"              # with the messages of failing tests, which hold the answers
      env      = { COLUMNS = "200" } # pytest cuts them to the width of its terminal
      timeout  = "1m"
    }
    private {
      context = "private"
      command = "python3 -m pytest -q held"
      timeout = "1m"
    }
    solution {
      context = "solution"
    }
  }
}

agent "memoriser" { # writes the answers of the feedback into its program
  dir     = "agents"
  command = ["python3", "/agent/memoriser.py"]
}

run "holdout" {
  tasks = [benchmark.holdout]

  agent "memoriser" {}
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
