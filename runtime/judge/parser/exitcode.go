package parser

import "fmt"

func exitCodeParser() Parser {
	return Parser{Name: "exit_code", Parse: parseExitCode}
}

// parseExitCode makes one test of the command itself.
func parseExitCode(in Input) Result {
	var t tally
	switch {
	case in.TimedOut:
		t.add("exit_code", Failed, "the command ran out of time")
	case in.ExitCode != 0:
		t.add("exit_code", Failed, fmt.Sprintf("exit code %d", in.ExitCode))
	default:
		t.add("exit_code", Passed, "")
	}
	return t.result(in, true, nil)
}
