package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// subject is one thing to measure: on the daemon with live trials that several share, or by
// itself.
type subject struct {
	name  string
	ours  bool // it measures the packages of this tree, and not the program
	busy  func(*fixture, context.Context) ([]result.Result, error)
	alone func(context.Context, options, *docker.Engine) ([]result.Result, error)
}

// subjects are all of them, in the order in which they are measured.
var subjects = []subject{
	{name: "submissions", busy: (*fixture).submissions},
	{name: "parallel", busy: (*fixture).parallel},
	{name: "cleaning", busy: (*fixture).cleaning, ours: true},
	{name: "drops", busy: (*fixture).drops},
	{name: "restarts", busy: (*fixture).restarts},
	{name: "adoption", alone: adoption},
	{name: "appending", alone: appending, ours: true},
	{name: "cells", alone: cells, ours: true},
	{name: "pages", alone: pages, ours: true},
	{name: "models", alone: models, ours: true},
	{name: "single", alone: single},
	{name: "decoys", alone: decoys},
	{name: "import", alone: importing},
	{name: "archive", alone: archiving, ours: true},
	{name: "mining", alone: mined},
	{name: "idling", alone: idling},
	{name: "soak", alone: soak},
}

func names(list []subject) (all []string) {
	for _, s := range list {
		all = append(all, s.name)
	}
	return all
}

// comparable are those that tell two programs apart.
func comparable() []subject {
	return slices.DeleteFunc(slices.Clone(subjects), func(s subject) bool { return s.ours })
}

// choose returns the subjects that the options name, in the usual order. A comparison takes
// those for granted that are over soon.
func choose(o options) (chosen []subject, err error) {
	possible, only := subjects, o.only
	if o.base != "" {
		possible = comparable()
		if only == "" {
			only = "submissions,parallel,drops,restarts,idling"
		}
	}
	if only == "" {
		return possible, nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names(possible), name) {
			return nil, fmt.Errorf("there is no subject %q to measure; there are %s", name, strings.Join(names(possible), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(possible), func(s subject) bool { return !slices.Contains(wanted, s.name) }), nil
}
