# Merged pull requests become tasks, and a run uses each as soon as it is there. To try it without
# a key and a network first: make demo-mining.
#
#   export OPENROUTER_API_KEY=...   # the model that finds out how to install and test
#   export GITHUB_TOKEN=...         # without it GitHub answers 60 requests an hour
#   assayd run examples/mining/mining.hcl
#
# What is found is in the folder pulls/ beside this file, and why each other pull request became
# no task in mining.mining.pulls.jsonl.

mining "pulls" {
  source "gharchive" { # every merge on GitHub of these hours, the newest first
    lookback = "6h"
  }
  # source "search" {
  #   query = "repo:psf/requests"
  #   from  = "2026-01-01"
  #   to    = "2026-07-01"
  # }
  # source "repos" {
  #   names = ["spf13/pflag", "expressjs/express"]
  #   since = "2026-01-01"
  # }

  max_tasks = 3 # it is over when there are so many, or when the source has nothing more
  # every   = "1h" # look again every hour, for ever

  filter {
    languages = ["python", "go", "javascript"]
    min_stars = 100
    per_repo  = 1
    licenses  = ["MIT", "BSD-3-Clause", "Apache-2.0"]
  }

  # Asking for a difficulty has a model look at each title first, for about 100 tokens.
  # difficulty = ["medium", "hard"]

  model = "openai/gpt-5.2-codex:nitro" # of OpenRouter, or of the provider that is named beside it
  budget {
    per_task {
      usd = 2 # a pull request that costs more is given up
    }
    total {
      usd = 15 # over the life of the spec; then it is over
    }
  }

  output {
    formats = ["sweforge", "swebench"] # a folder of each below pulls/
  }
}

# Each task is worked on as it comes; the run is over when the mining is. The oracle has the pull
# request itself, nop does nothing: the first has to resolve all of them, the second none.
run "mined" {
  tasks = [mining.pulls]
  mode  = "single"

  agent "oracle" {}
  agent "nop" {}

  parallel = 2
}
