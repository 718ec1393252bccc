# A judge in two stages: what was submitted runs in one container and leaves its answers,
# another compares them with the right ones. No submitted code is near the right answers or
# the grader, so there is nothing to forge.
#
#   assayd run examples/staged/staged.hcl

benchmark "staged" {
  description = "Predictions, compared where the predictor cannot reach"

  task "language" {
    title       = "Which language is it?"
    image       = "assayd-base/python:1"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths   = ["guess.py"]
      exclude = []
    }
    work {
      context = "skeleton"
    }
    judge {
      parser = "structured_json"
      select = "score_first"

      stage "run" {
        context = "inputs" # the hidden sentences; not the answers
        command = "python3 guess.py <sentences.txt >guesses.txt"
        timeout = "1m"
        outputs = ["guesses.txt"]
      }
      stage "grade" {
        context = "answers" # never in a container with submitted code
        command = ["python3", "grade.py"]
        timeout = "1m"
      }
    }
    solution {
      context = "solution"
    }
  }
}

# Looks for the answers where it runs, and would print them if they were there.
agent "burglar" {
  dir     = "agents"
  command = ["sh", "/agent/burglar.sh"]
}

run "staged" {
  tasks = [benchmark.staged]

  agent "burglar" {}
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
