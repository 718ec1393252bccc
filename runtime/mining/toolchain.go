package mining

import "strings"

// toolchains are the images in which a repository is installed and tested, by its main
// language; test_generation.image of the spec replaces them.
var toolchains = map[string]string{
	"python":     "python:3.12-bookworm",
	"go":         "golang:1.26-bookworm",
	"javascript": "node:22-bookworm",
	"typescript": "node:22-bookworm",
	"rust":       "rust:1-bookworm",
	"java":       "maven:3-eclipse-temurin-21",
	"kotlin":     "maven:3-eclipse-temurin-21",
	"c":          "gcc:14-bookworm",
	"c++":        "gcc:14-bookworm",
	"ruby":       "ruby:3.3-bookworm",
	"php":        "php:8.3-cli-bookworm",
	"c#":         "mcr.microsoft.com/dotnet/sdk:8.0-bookworm-slim",
}

// anyToolchain is for every other language: it has Git, a C compiler and Python.
const anyToolchain = "buildpack-deps:bookworm"

// toolchain is the image for a language.
func toolchain(language string) string {
	if image, ok := toolchains[strings.ToLower(language)]; ok {
		return image
	}
	return anyToolchain
}
