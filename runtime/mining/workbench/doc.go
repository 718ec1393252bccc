// Package workbench has a model find out, in a container, how a repository is installed and
// how its tests are run, and write tests where a pull request has none, or too few.
//
// It keeps nothing: what the model answers comes from a function of the caller, who may have
// kept the answers of an earlier life, and turn by turn the same answers lead to the same
// conversation as long as the commands print the same. It decides nothing either: whether a
// proposal is sound is proved by another function of the caller. All that is read here, from
// the pull request, from the container and from the model, is hostile; nothing in the container
// is worth stealing. It never starts nor removes a container.
//
// Start reading at Run; EngineRoom is the container.
package workbench
