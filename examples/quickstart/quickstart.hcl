# One task, an agent that needs no key, one run. `make demo` runs this; to run it by hand:
#
#   assayd run examples/quickstart/quickstart.hcl

benchmark "roman" {
  description = "Roman numerals: small enough to read, hidden tests and all"

  task "numerals" {
    title       = "Convert between numbers and Roman numerals"
    image       = "assayd-base/python:1"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths = ["src/"]
    }
    work {
      context = "skeleton" # what the agent finds in /workspace
    }
    judge {
      context = "judge" # laid over it in the judge's container; the agent never sees it
      command = "python3 -m pytest -q tests"
      parser  = "pytest"
      timeout = "1m"
    }
    solution {
      context = "solution" # for the built-in agent "oracle"
    }
  }
}

# An agent is only configuration: a folder, a command.
agent "apprentice" {
  dir     = "agent"
  command = ["python3", "/agent/apprentice.py"]
}

run "quickstart" {
  tasks = [benchmark.roman]

  agent "apprentice" {}
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
