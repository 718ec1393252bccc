// Package vet says whether a task is worth giving to anybody: whether its solution passes,
// its untouched tree fails, each run shows the same, its work image tells nothing of the hidden
// tests and the solution, and whoever cheats gains nothing.
//
// It holds what of that is a function of its input: the adversaries, which are made of the task,
// what to look for in an image, and what the reports of all judgings come to. It starts no
// container and judges nothing: package reconcile does. The content of an image is hostile.
//
// A cheat that is none of the adversaries is not seen, nor is a text that somebody packed or
// wrote in other words. Start reading at Conclude, Adversaries and Secrets.
package vet
