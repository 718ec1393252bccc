// Command mine-offline runs a command of assayd with stand-ins for what mining reaches: GH Archive,
// GitHub, its repositories and a model. All of them are made of the files of a folder, those of
// examples/mining-offline.
//
// The stand-ins for GitHub and for the model are those of the tests: githubtest and modeltest. The
// program judges nothing and needs no network. Start reading at main, then at readPulls; the script
// run beside it does all of the example.
package main
