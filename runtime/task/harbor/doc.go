// Package harbor reads and writes tasks in Harbor's format: a folder with task.toml,
// instruction.md, environment/, tests/ and solution/, of the schemas 1.0 to 1.4.
//
// Harbor judges in the container that the agent leaves, as a rule; here a submission is laid
// over a fresh copy of it. So what counts must be in the working folder, tests/ is in no
// image that an agent sees, and the folder of the reward is empty before judging.
//
// What cannot be carried over soundly makes a task a problem: several steps, side cars,
// health checks, windows, accelerators; config/README.md has the whole list. It never talks to an engine and never follows a link
// out of the folder. Start reading at Read and at Write.
package harbor
