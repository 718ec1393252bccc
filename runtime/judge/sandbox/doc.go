// Package sandbox makes the containers of a judge: it starts and removes them, keeps some ready,
// gives them CPUs of their own, copies trees over them, and looks at what an image holds.
//
// It never decides which trees are judged or what a result is worth, and nothing submitted tells it what to
// do. Start reading at Host, Pool, CPUs, and Profiles.
package sandbox
