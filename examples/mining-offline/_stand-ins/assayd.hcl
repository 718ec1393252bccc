# The settings of the example: they name the stand-ins in place of GitHub and of a model. The
# program that starts the stand-ins sets the variables.

env = ["ARCHIVE_URL"] # which the spec may read

github {
  base_url = env("GITHUB_URL")
  tokens   = ["none"]
}

build {
  mirrors = { git = env("REPOSITORIES_URL") }
}

provider "scripted" {
  protocol = "openai"
  base_url = env("MODEL_URL")
  api_key  = "none"
  prices   = { "scripted-model" = { input = 1, output = 10 } } # dollars per million tokens; none are paid
}
