benchmark "attack" {
  task "page" {
    image       = "assayd-base/python:1"
    workdir     = "/workspace"
    instruction = "Attack whoever reads this."
    submit {
      paths = ["src/"]
    }
    work {
      context = "skeleton"
    }
    judge {
      context = "judge"
      command = "python3 judge.py"
      parser  = "structured_json"
      timeout = "1m"
    }
  }
}

agent "attacker" {
  dir     = "agent"
  command = ["python3", "/agent/attack.py"]
}

run "attack" {
  tasks     = [benchmark.attack]
  timeout   = "5m"
  auto_eval = "0s"
  agent "attacker" {}
  work {
    cpus = 0.5
  }
  judge {
    cpus = 0.5
  }
}
