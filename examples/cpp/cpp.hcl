# A compiled task: the judge compiles what was submitted with its own tests, then runs them.
#
#   assayd run examples/cpp/cpp.hcl

benchmark "bignum" {
  description = "C++: numbers that no register holds"

  base "cpp" { # built once, shared by all tasks that name it
    image    = "assayd-base/python:1"
    packages = ["g++", "make"]
  }

  task "multiply" {
    title       = "Add and multiply numbers of any length"
    base        = "cpp"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths = ["src/"]
    }
    work {
      context = "skeleton"
    }
    judge {
      context = "judge"
      command = "make -s -f tests/Makefile check"
      parser  = "tap"
      timeout = "2m"
      expect  = file("judge/tests/names.txt") # a test that is not seen has failed
    }
    solution {
      context = "solution"
    }
  }
}

run "cpp" {
  tasks = [benchmark.bignum]

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
