# A proof, checked by a prover from Debian: nobody has to believe the one who wrote it.
#
#   assayd run examples/proof/proof.hcl

benchmark "logic" {
  description = "Formal proofs in the propositional calculus, checked by Metamath"

  base "metamath" {
    image    = "assayd-base/python:1"
    packages = ["metamath"]
  }

  task "implication" {
    title       = "Three theorems on implication"
    base        = "metamath"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths = ["proofs/"]
    }
    work {
      context = "skeleton"
    }
    judge {
      context  = "judge"
      command  = ["python3", "judge/check.py"]
      parser   = "structured_json" # the grader says for itself what it found
      feedback = "full"            # with the prover's words
      timeout  = "1m"
    }
    solution {
      context = "solution"
    }
  }
}

run "proof" {
  tasks = [benchmark.logic]

  agent "oracle" {}
  agent "nop" {}

  timeout   = "5m"
  auto_eval = "0s"
  parallel  = 2

  work {
    cpus = 0.5
  }
  judge {
    cpus = 0.5
  }
}
