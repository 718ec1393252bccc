# Java, without a build tool: the compiler, JUnit's own launcher, and its XML reports. An agent works
# once and without feedback, and what it changed is judged as a patch (single mode).
#
#   contrib/images/base java
#   assayd run examples/java/java.hcl

benchmark "java" {
  description = "Java, tested with JUnit 5"

  task "fraction" {
    title       = "Fractions that are equal when they are"
    image       = "assayd-base/java:1"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths = ["src/"]
    }
    work {
      context = "skeleton"
      env = {
        JAVA_TOOL_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto" # short runs
      }
    }
    judge {
      context = "judge"
      command = "sh tests/run.sh"
      parser  = "junit" # reads target/surefire-reports
      timeout = "2m"
    }
    solution {
      context = "solution"
    }

    fail_to_pass = [
      "fraction.FractionTest::equalValuesAreEqual()",
      "fraction.FractionTest::equalValuesHaveOneHash()",
      "fraction.FractionTest::signsAreInTheNumerator()",
    ]
    pass_to_pass = [
      "fraction.FractionTest::adds()",
      "fraction.FractionTest::refusesZeroBelow()",
    ]
  }
}

run "java" {
  tasks   = [benchmark.java]
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
