package page

import "github.com/assayd/assayd/reconcile/query"

// Files are files of a trial to save.
type Files struct {
	Frame
	Trial       query.TrialInfo
	Items       []FileLine
	Next, First string
}

// FileLine is a file in a table, with what it is in words.
type FileLine struct {
	query.FileInfo
	Is string
}

// NewFiles makes a page of the list.
func NewFiles(f Frame, t query.TrialInfo, files []query.FileInfo, next, first string) *Files {
	f.Title, f.Nav, f.Topics = "files of "+t.ID, "runs", []string{t.ID}
	v := &Files{Frame: f, Trial: t, Next: next, First: first}
	for _, file := range files {
		v.Items = append(v.Items, FileLine{file, fileIs[file.Kind]})
	}
	return v
}

// fileIs says what files of a kind are.
var fileIs = map[string]string{
	query.FilePrompt:     "what the agent was told",
	query.FileLog:        "what the agent printed",
	query.FileTranscript: "what the agent and its models said",
	query.FileTrajectory: "the same as an ATIF document",
	query.FilePatch:      "what the agent changed",
	query.FileArchive:    "the tree that was judged",
	query.FileOutput:     "what the judge command printed",
	query.FileStage:      "what the run stage handed on",
}
