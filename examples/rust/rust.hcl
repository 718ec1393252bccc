# Rust: cargo without a network, with what crates the distribution has. An agent works once and
# without feedback, and what it changed is judged as a patch (single mode).
#
#   contrib/images/base rust
#   assayd run examples/rust/rust.hcl

benchmark "rust" {
  description = "Rust, tested with cargo"

  task "ranges" {
    title       = "Ranges that touch"
    image       = "assayd-base/rust:1"
    workdir     = "/workspace"
    instruction = file("instruction.md")

    submit {
      paths   = ["."]
      exclude = ["tests/", "target/"]
    }
    work {
      context = "skeleton"
    }
    judge {
      context = "judge"
      command = "cargo test --no-fail-fast"
      parser  = "cargo"
      timeout = "5m"
      decoys  = 0 # mixed runs tell forgers; to prove decoys takes cargo many minutes on a small machine
    }
    solution {
      context = "solution"
    }

    fail_to_pass = ["tests/ranges.rs::merges_what_touches", "tests/ranges.rs::merges_in_any_order"]
    pass_to_pass = ["tests/ranges.rs::keeps_what_is_apart", "tests/ranges.rs::nothing_stays_nothing"]
  }
}

run "rust" {
  tasks   = [benchmark.rust]
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
