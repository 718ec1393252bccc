package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

// harnessFlags are those of swe-forge's harness.
type harnessFlags struct {
	input, dataset            string
	agentDir, agentCmd        string
	image, output             string
	tasks                     []string
	agentTimeout, testTimeout uint32 // seconds
	parallel                  int
	noDataset, keep           bool
}

func (e *env) harness() *cobra.Command {
	var f harnessFlags
	cmd := e.shorthand(&cobra.Command{
		Use: "harness {DIR | --dataset OWNER/NAME} --agent-dir DIR [--agent-cmd COMMAND]", Short: "Run an agent once on swe-forge's tasks, as its harness does",
		Long: `harness writes the spec that its flags stand for into the file harness.hcl, shows it, and does what
assayd run does with that file. The flags are those of swe harness. The instruction is added to the
command of the agent, as --instruction TEXT. What the agent's requirements.txt names is installed first.
Edit the file for what no flag says, and use assayd run from then on.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			spec := filepath.Join(f.output, "harness.hcl")
			draft, err := f.draft(cmd, spec, args)
			if err != nil {
				return usage{err}
			}
			return e.runDraft(cmd.Context(), spec, draft)
		},
	})
	cmd.Args = cmd.args(1, "give one folder of tasks")
	flags := cmd.Flags()
	flags.StringVarP(&f.input, "input", "i", "", "folder of the tasks, in place of DIR")
	flags.StringVar(&f.dataset, "dataset", "", "dataset of the tasks, OWNER/NAME")
	flags.BoolVar(&f.noDataset, "no-dataset", false, "the tasks are in a folder, which is so without --dataset")
	flags.StringArrayVar(&f.tasks, "task-id", nil, "only this task; may be repeated")
	flags.StringVar(&f.agentDir, "agent-dir", "", "folder of the agent, which finds it at /agent")
	flags.StringVar(&f.agentCmd, "agent-cmd", "python /agent/agent.py", "command of the agent")
	flags.Uint32Var(&f.agentTimeout, "agent-timeout", 600, "seconds that the agent has")
	flags.Uint32Var(&f.testTimeout, "test-timeout", 120, "seconds that each test command has")
	flags.StringVar(&f.image, "docker-image", "", "image of tasks that name none (default python:3.12-slim)")
	flags.IntVar(&f.parallel, "parallel", 1, "how many trials go on at once, as far as the machine has room")
	flags.BoolVar(&f.keep, "keep-containers", false, "keep the containers after the end")
	flags.StringVar(&f.output, "output", ".", "folder of harness.hcl and of the results")
	return cmd.Command
}

// tasksFolder is where the tasks lie; "" = in a dataset.
func (f harnessFlags) tasksFolder(args []string) (string, error) {
	all := args
	if f.input != "" {
		all = append(all, f.input)
	}
	switch {
	case len(all) > 1:
		return "", errors.New("give the folder of the tasks or --input, not both")
	case len(all) == 1 && f.dataset != "":
		return "", errors.New("give a folder of tasks or --dataset, not both")
	case len(all) == 1:
		return all[0], nil
	case f.noDataset || f.dataset == "":
		return "", errors.New("give the folder of the tasks, or --dataset OWNER/NAME")
	}
	return "", nil
}

// draft is the spec that the flags stand for.
func (f harnessFlags) draft(cmd *cobra.Command, spec string, args []string) (*config.Draft, error) {
	tasks, err := f.tasksFolder(args)
	if err != nil {
		return nil, err
	}
	if f.agentDir == "" {
		return nil, errors.New("give the folder of the agent with --agent-dir")
	}
	d := config.NewDraft("Written by assayd harness. To run it again: assayd run " + filepath.Base(spec))
	from := d.Block("benchmark", "mined").Block("import", "sweforge")
	if tasks == "" {
		from.Text("dataset", f.dataset)
	} else if err := pathTo(from, "path", spec, tasks); err != nil {
		return nil, err
	}
	if f.image != "" {
		from.Text("image", f.image)
	}
	if len(f.tasks) > 0 {
		from.Texts("include", taskNames(f.tasks))
	}
	agent := d.Block("agent", "mine")
	if err := pathTo(agent, "dir", spec, f.agentDir); err != nil {
		return nil, err
	}
	agent.Text("command", f.agentCmd+` --instruction "$(cat "$ASSAYD_PROMPT_FILE")"`)
	if exists(filepath.Join(f.agentDir, "requirements.txt")) {
		agent.Texts("install", []string{installRequirements})
	}
	f.run(cmd, d.Block("run", "harness"))
	return d, nil
}

// taskNames are ids as the import has them.
func taskNames(ids []string) (names []string) {
	for _, id := range ids {
		names = append(names, sweforge.TaskName(id))
	}
	return names
}

// installRequirements installs what an agent needs also where the system's Python does not want that.
const installRequirements = "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install -r /agent/requirements.txt"

func (f harnessFlags) run(cmd *cobra.Command, run *config.DraftBlock) {
	given := cmd.Flags().Changed
	run.Refs("tasks", "benchmark", "mined")
	run.Text("mode", "single")
	if given("agent-timeout") {
		run.Text("timeout", fmt.Sprintf("%ds", f.agentTimeout))
	}
	if given("test-timeout") {
		run.Text("test_timeout", fmt.Sprintf("%ds", f.testTimeout))
	}
	if given("parallel") {
		run.Number("parallel", f.parallel)
	}
	if f.keep {
		run.Text("keep", "always")
	}
	run.Block("agent", "mine")
}
