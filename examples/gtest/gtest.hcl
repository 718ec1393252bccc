# C++ with CMake and GoogleTest, which writes the XML that the parser reads. An agent works once
# and without feedback, and what it changed is judged as a patch (single mode).
#
#   contrib/images/base cpp
#   assayd run examples/gtest/gtest.hcl

benchmark "gtest" {
  description = "C++, tested with GoogleTest"

  task "ring" {
    title       = "A ring that does not lose what is put in"
    image       = "assayd-base/cpp:1"
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
      command = "cmake -S tests -B build >/dev/null && cmake --build build && build/check --gtest_output=xml:results.xml"
      parser  = "junit" # reads results.xml
      timeout = "5m"
    }
    solution {
      context = "solution"
    }

    fail_to_pass = ["Ring.WrapsAround", "Ring.IsFull"]
    pass_to_pass = ["Ring.GivesWhatWasPut", "Ring.IsEmptyAtFirst"]
  }
}

run "gtest" {
  tasks   = [benchmark.gtest]
  mode    = "single"
  timeout = "5m"

  agent "oracle" {}
  agent "nop" {}

  work {
    cpus = 0.5
  }
  judge {
    cpus = 1
  }
}
