// Package config is the language: spec files in, one frozen set of checked specs out, with
// file and line for every complaint. README.md beside this file is its reference page.
//
// It starts nothing, keeps nothing and knows no other package of assayd: Load gets the specs accepted
// before and returns those accepted now. Secrets are held by name
// only. Start reading at Load (load.go), then body.go, which all blocks are decoded with.
package config
