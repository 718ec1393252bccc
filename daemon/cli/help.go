package cli

import (
	"maps"
	"strings"

	"github.com/spf13/cobra"
)

// about is what the help of a command says besides its flags.
type about struct {
	purpose  string // where the command does not say more of itself
	examples []string
	exits    [3]string // what the exit codes 0, 1 and 2 mean
}

// failure is what 1 means for a command that only does what it is told.
const (
	failure = "it could not be done; standard error says why"
	refusal = "the command line is wrong"
)

// helps is by the name of the command, below assayd.
func helps() map[string]about {
	all := specsHelp()
	maps.Copy(all, resultsHelp())
	maps.Copy(all, controlHelp())
	maps.Copy(all, heldHelp())
	maps.Copy(all, pagesHelp())
	maps.Copy(all, tasksHelp())
	return all
}

// specsHelp is of the commands that read specs, or make them true.
func specsHelp() map[string]about {
	return map[string]about{
		"serve": {
			"serve is the daemon: it watches folders of specs, makes what they declare true, and writes the records beside\nthem. SIGTERM ends it; what runs then goes on with the next start. SIGHUP reads all files again.",
			[]string{"assayd serve --watch specs", "assayd serve --watch team-a --watch team-b --state /var/lib/assayd", "assayd serve --watch specs --http 127.0.0.1:8733 --config assayd.hcl"},
			[3]string{"it was told to stop", "it could not begin, or go on", "the command line or the settings are wrong"},
		},
		"run": {
			"",
			[]string{"assayd run examples/quickstart/quickstart.hcl", "assayd run bench.hcl nightly.hcl --json", "assayd run nightly.hcl --state /var/lib/assayd"},
			[3]string{"every trial is judged, and mining has made tasks", "a trial failed, crashed, never began or could not be judged", "the specs or the command line are wrong; nothing was started"},
		},
		"validate": {
			"validate reads spec files, and folders of them, as the daemon would, and says what is wrong with each, by file, line\nand column. It starts nothing, builds nothing and asks no registry: whether an image and its commands exist, and whether the\nparser understands what they print, shows when a trial runs. If a file does not parse, it only says where.",
			[]string{"assayd validate specs", "assayd validate bench.hcl nightly.hcl", "assayd validate specs --json"},
			[3]string{"all files are right; warnings may be said", "the files could not be read", "a file is wrong"},
		},
		"plan": {
			"plan shows what these specs would start and stop in the state directory, cell by cell, and why. It changes nothing.",
			[]string{"assayd plan specs", "assayd plan nightly.hcl --state /var/lib/assayd", "assayd plan specs --json"},
			[3]string{"it was shown", failure, "the specs or the command line are wrong"},
		},
		"fmt": {
			"fmt puts spec files, and those of folders, into the canonical layout. It changes no value and no comment.",
			[]string{"assayd fmt nightly.hcl", "assayd fmt specs", "assayd fmt --check specs"},
			[3]string{"the files are in that layout now", "with --check, a file would change; else a file could not be written", "a file cannot be parsed, or the command line is wrong"},
		},
	}
}

// pagesHelp is of the commands that show what the daemon does, in a browser and on a terminal.
func pagesHelp() map[string]about {
	return map[string]about{
		"top": {
			"",
			[]string{"assayd top", "assayd top --once", "assayd top --json"},
			[3]string{"it was shown", failure, refusal},
		},
		"web": {
			"",
			[]string{"assayd web", "assayd web run.nightly", "assayd web --logout"},
			[3]string{"the address was printed, or the sessions were ended", failure, refusal},
		},
	}
}

// resultsHelp is of the commands that show runs.
func resultsHelp() map[string]about {
	return map[string]about{
		"status": {
			"status shows the runs and mining specs of the daemon, what they wait for, and what is wrong with specs; with an address,\nthe trials of one. Without a daemon it shows what the state directory holds.",
			[]string{"assayd status", "assayd status run.nightly", "assayd status mining.example --json"},
			[3]string{"it was shown", failure, refusal},
		},
		"results": {
			"results prints the records of a run, a mining spec or a benchmark as they are written beside its file, one JSON object a line.",
			[]string{"assayd results run.nightly", "assayd results run.nightly --follow", `assayd results run.nightly | jq 'select(.type == "trial.finished")'`},
			[3]string{"they were printed", failure, refusal},
		},
		"report": {
			"",
			[]string{"assayd report run.nightly", "assayd report run.before run.after", "assayd report run.nightly --html nightly.html"},
			[3]string{"it was shown", failure, refusal},
		},
		"compare": {
			"",
			[]string{"assayd compare run.before run.after", "assayd compare run.nightly.e1 run.nightly.e2", "assayd compare run.nightly run.nightly --agent codex,claude-code"},
			[3]string{"it was shown", failure, refusal},
		},
		"logs": {
			"logs prints what the agent of a trial wrote to its output. To a terminal it is shown as text that steers nothing.",
			[]string{"assayd logs nightly.e1.0a1b2c3d", "assayd logs nightly.e1.0a1b2c3d --follow", "assayd logs nightly.e1.0a1b2c3d --try 1"},
			[3]string{"it was printed", failure, refusal},
		},
		"submissions": {
			"submissions shows the rounds of a trial, and the tests of the latest. With --output it prints what the judge command\nwrote in one: two tests of random names in it, one of which fails, are the judge's own. They show that the runner was not tampered with.",
			[]string{"assayd submissions nightly.e1.0a1b2c3d", "assayd submissions nightly.e1.0a1b2c3d --output agent-1", "assayd submissions nightly.e1.0a1b2c3d --json"},
			[3]string{"they were shown", failure, refusal},
		},
		"shell": {
			"",
			[]string{"assayd shell nightly.e1.0a1b2c3d", "assayd shell nightly.e1.0a1b2c3d --judge", "assayd shell nightly.e1.0a1b2c3d --state /var/lib/assayd"},
			[3]string{"the shell ended with 0; any other code of the shell is passed on", "there is nothing to enter; standard error says why", refusal},
		},
	}
}

// controlHelp is of the commands that change how runs go on.
func controlHelp() map[string]about {
	return map[string]about{
		"rerun": {
			"",
			[]string{"assayd rerun run.nightly", "assayd rerun nightly.e1.0a1b2c3d", "assayd rerun run.nightly --failed"},
			[3]string{"the daemon has begun it", failure, refusal},
		},
		"retry": {
			"",
			[]string{"assayd retry run.nightly", "assayd retry nightly.e1.0a1b2c3d", "assayd retry run.nightly --json"},
			[3]string{"the daemon has begun it", failure, refusal},
		},
		"note": {
			"note leaves a line of text at a run, a mining spec, or a trial. It is shown with it, and recorded; notes stay.",
			[]string{"assayd note run.nightly 'provider incident from 13:58 on'", "assayd note nightly.e1.0a1b2c3d 'reward hacking?'", "assayd note mining.example 'quota was raised' --json"},
			[3]string{"it is noted, also if it was before", failure, refusal},
		},
		"tag": {
			"tag gives a run, a mining spec, or a trial a word by which trials are listed: letters, digits, and . _ : -, 40 at most.",
			[]string{"assayd tag nightly.e1.0a1b2c3d suspect", "assayd tag run.nightly release:3.2", "assayd tag run.nightly baseline --dry-run"},
			[3]string{"it bears the tag, also if it did before", failure, refusal},
		},
		"untag": {
			"untag removes a tag from a run, a mining spec, or a trial.",
			[]string{"assayd untag nightly.e1.0a1b2c3d suspect", "assayd untag run.nightly baseline", "assayd untag run.nightly baseline --json"},
			[3]string{"it does not bear the tag, also if it did not before", failure, refusal},
		},
		"stop": {
			"stop makes the time of a trial's agent be over now, as its deadline does: the last snapshot is taken and judged, and the\ntrial gets its verdict. Its reason and a flag say stopped, so that reports show it. To end a trial without a verdict: cancel.",
			[]string{"assayd stop nightly.e1.0a1b2c3d", "assayd stop nightly.e1.0a1b2c3d --reason 'it only waits'", "assayd stop nightly.e1.0a1b2c3d --dry-run --json"},
			[3]string{"it is stopped, also if it was before", failure, refusal},
		},
		"extend": {
			"extend gives a trial whose agent works more time than its spec declares, to make up for what a machine took from it. The\ndeadline moves to the declared one and D more. The result at the declared deadline stays the one that is reported.\nThe later result stands beside it, and is in no rate. The trial gets the flag extended.",
			[]string{"assayd extend nightly.e1.0a1b2c3d 2h", "assayd extend nightly.e1.0a1b2c3d 30m --reason 'the disk was full from 13:58 on'", "assayd extend nightly.e1.0a1b2c3d 2h --dry-run --json"},
			[3]string{"it has that deadline, also if it had it before", failure, refusal},
		},
		"cancel": {
			"cancel ends the execution of a run that is open, a mining spec's work, or one trial. Trials that are judged stay, and\ntheir numbers count. The others are cancelled, and are in no rate.",
			[]string{"assayd cancel run.nightly", "assayd cancel nightly.e1.0a1b2c3d --reason 'wrong model'", "assayd cancel mining.example"},
			[3]string{"the daemon has taken it, also if it had before", failure, refusal},
		},
	}
}

// heldHelp is of the commands that hold something back.
func heldHelp() map[string]about {
	return map[string]about{
		"pause": {
			"pause keeps new work from beginning: of everything (all), a run, a mining spec, or of trials whose agent asks models of\na provider. Trials at work go on and are judged. A pause survives restarts and edits, until resume or --until lifts it.\nWith --calls trials at work get no answer of their models either, as in an outage, while their time runs on.",
			[]string{"assayd pause run.nightly --reason incident", "assayd pause all --until 2h", "assayd pause provider.anthropic --calls --dry-run"},
			[3]string{"it is paused, also if it was before", failure, refusal},
		},
		"resume": {
			"resume lifts the pause of a target alone: a run that is paused goes on only when all is not, and its providers are not.\nNo command lifts paused = true of a file, nor the hold that a budget of the settings comes to.",
			[]string{"assayd resume run.nightly", "assayd resume all", "assayd resume provider.anthropic --json"},
			[3]string{"it is not paused, also if it was not before", failure, refusal},
		},
		"throttle": {
			"throttle lets fewer trials of a run be at work at once than its parallel does. Trials at work go on. With off it is lifted.",
			[]string{"assayd throttle run.nightly 2", "assayd throttle run.nightly 2 --until 90m", "assayd throttle run.nightly off"},
			[3]string{"it is so, also if it was before", failure, refusal},
		},
		"drain": {
			"drain pauses everything, as pause all does. Trials at work go on and are judged. A daemon that was started with\nserve --drain ends when nothing works any more. After the next start all is still paused, until resume all.",
			[]string{"assayd drain", "assayd drain --reason 'new kernel'", "assayd drain --dry-run --json"},
			[3]string{"everything is paused, also if it was before", failure, refusal},
		},
	}
}

// tasksHelp is of the commands about tasks, images and the machine.
func tasksHelp() map[string]about {
	return map[string]about{
		"eval": {
			"",
			[]string{`assayd eval --task 'benchmark.roman["numerals"]' --archive answer.tar.gz bench.hcl`, "assayd eval --round nightly.e1.0a1b2c3d/agent-3", "assayd eval --dataset benchmark.verified --predictions preds.jsonl bench.hcl"},
			[3]string{"there is a verdict, whatever it says", "the machinery failed", "the command line, the specs or the archive are refused"},
		},
		"harness": {
			"",
			[]string{"assayd harness generated-swe --agent-dir my-agent", `assayd harness pulls --agent-dir my-agent --agent-cmd myagent.sh --parallel 2 --json`, "assayd harness --dataset OWNER/NAME --agent-dir my-agent --output results"},
			[3]string{"every trial is judged", "a trial failed, crashed, never began or could not be judged", "the command line or the spec is wrong; nothing was started"},
		},
		"mine": {
			"",
			[]string{"assayd mine --once --max-tasks 5 --languages go,rust", "assayd mine --difficulty-targets easy:5,hard:2 --output pulls", "assayd mine -n 1 --pr-file prs.jsonl --json"},
			[3]string{"mining has made tasks", "it has made none, or failed", "the command line or the spec is wrong; nothing was started"},
		},
		"task check": {
			"",
			[]string{"assayd task check benchmark.roman", `assayd task check 'benchmark.roman["numerals"]' bench.hcl`, "assayd task check tasks/ --format harbor --repeat 5"},
			[3]string{"all tasks are sound", "one is not, or could not be rated", "the command line or the specs are wrong, or the settings lack the provider or its key"},
		},
		"import": {
			"",
			[]string{"assayd import swebench verified.jsonl verified", "assayd import harbor https://github.com/owner/tasks@v1 tasks", "assayd import sforge edgebench.tar.gz edge"},
			[3]string{"it is there", "it could not be fetched", "nothing of it can be used, or the command line is wrong"},
		},
		"export": {
			"",
			[]string{"assayd export harbor benchmark.roman out", "assayd export junit run.nightly out", "assayd export predictions run.nightly preds.jsonl"},
			[3]string{"it was written", failure, "no task can be written in that format, or the command line is wrong"},
		},
		"build": imagesHelp("build"),
		"pull":  imagesHelp("pull"),
		"push":  imagesHelp("push"),
		"gc": {
			"",
			[]string{"assayd gc --dry-run", "assayd gc", "assayd gc --keep 20GiB"},
			[3]string{"it is done", failure, refusal},
		},
		"doctor": {
			"doctor says whether this machine can do the work: the engine, the state directory, the disk, a daemon that answers, Git.",
			[]string{"assayd doctor", "assayd doctor --state /var/lib/assayd", "assayd doctor --json"},
			[3]string{"all is well", "a check failed; its line says what to do", refusal},
		},
		"version": {
			"version prints which assayd this is.",
			[]string{"assayd version", "assayd version --json", "assayd version | cut -d' ' -f2"},
			[3]string{"it was printed", failure, refusal},
		},
	}
}

func imagesHelp(name string) about {
	return about{
		"",
		[]string{"assayd " + name + " bench.hcl", "assayd " + name + " benchmark.roman", `assayd ` + name + ` 'benchmark.roman["numerals"]'`},
		[3]string{"all images are where they belong", "one is not; the others are", "the command line or the specs are wrong"},
	}
}

// explain gives each command below one its purpose, examples, and exit codes.
func explain(root *cobra.Command) {
	all := helps()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if h, ok := all[strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")]; ok {
			if cmd.Long == "" {
				cmd.Long = h.purpose
			}
			cmd.Long += "\n\nExit codes:"
			for code, means := range h.exits {
				cmd.Long += "\n  " + string(rune('0'+code)) + "  " + means
			}
			cmd.Example = "  " + strings.Join(h.examples, "\n  ")
		}
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(root)
}
