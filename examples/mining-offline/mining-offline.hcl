# Mining without a network and without a key. From a checkout, with Docker:
#
#   make demo-mining
#
# copies this folder, starts stand-ins for GH Archive, GitHub, its repositories and a model, and
# runs this file. The files of the stand-ins are in _stand-ins/: an hour of the archive, a repository,
# and its pull requests with what the model says about each. Everything else is real: the daemon, Git,
# the containers, the tests and the proof.
#
# Beside this file come the tasks, in offline/, and what became of each pull request and why, in
# mining-offline.mining.offline.jsonl.
#
# To mine the real archive, copy examples/mining/mining.hcl. It is this block without base_url,
# provider, model and image, and with a budget: the settings then need no addresses, the model needs
# OPENROUTER_API_KEY, and GitHub wants GITHUB_TOKEN.

mining "offline" {
  source "gharchive" {
    from     = "2026-01-05T09:00:00Z" # the one hour that the stand-in has
    to       = "2026-01-05T10:00:00Z"
    base_url = env("ARCHIVE_URL") # leave it out for GH Archive
  }

  max_tasks = 0 # no limit: the mining ends with the hour

  filter {
    languages = ["python"]
    min_stars = 100
    added_lines {
      min = 1 # the changes of the stand-in's repository are small
    }
  }

  provider = "scripted"       # of _stand-ins/assayd.hcl
  model    = "scripted-model" # knows only the pull requests of _stand-ins/pulls

  test_generation {
    image = "assayd-base/python:1" # made here, by contrib/images/base; needs no registry
  }
  validation {
    repeats = 2 # 3 unless it is said; two are enough for tests as small as these
  }
}

# The oracle has the change of the pull request itself, nop does nothing: the first has to resolve
# each task, the second none.
run "mined" {
  tasks = [mining.offline]
  mode  = "single"

  agent "oracle" {}
  agent "nop" {}
}
