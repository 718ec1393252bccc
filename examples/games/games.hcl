# Games: nothing is submitted, every session is a container with a server in it, and the
# highest score that a session reaches is what it counts for.
#
#   assayd run examples/games/games.hcl

benchmark "games" {
  description = "A small game server of our own, and a program from Debian behind one"

  base "arcade" {
    image    = "assayd-base/python:1"
    packages = ["bsdgames"]
  }

  task "mastermind" {
    title       = "Find the code"
    image       = "assayd-base/python:1"
    instruction = file("mastermind/instruction.md")

    judge {
      context = "mastermind/server"
      game    = "python3 server.py 8000"
      select  = "score_first"
    }
    solution {
      script = file("mastermind/solve.sh")
    }
  }

  task "adventure" {
    title       = "Down into the cave"
    base        = "arcade"
    instruction = file("adventure/instruction.md")

    judge {
      context = "adventure/server"
      game    = "python3 server.py 8000"
      select  = "score_first"
    }
    solution {
      script = file("adventure/solve.sh")
    }
  }
}

run "games" {
  tasks = [benchmark.games]

  agent "oracle" {}
  agent "nop" {}

  timeout  = "5m"
  parallel = 2

  work {
    cpus = 0.5
  }
  judge {
    cpus = 0.5
  }
}
