// Package agent says what an agent is: which command works on a task, with which
// environment and prompt, and what starts it again.
//
// An agent is only configuration, so a new one is data. The package never controls a
// process: the guest does. Start reading at Agent and Builtin.
package agent
