package swebench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Outcome is what came of one instance.
type Outcome struct {
	Instance   string
	Model      string
	Status     string // of the trial; "" = there was no prediction
	Empty      bool   // the patch is
	Malformed  bool   // the prediction is
	NotApplied bool   // the patch could not be
	Reason     string // for what was neither resolved nor unresolved; "" = the status says it
	FailToPass Tests
	PassToPass Tests
}

// Tests are names by their result.
type Tests struct {
	Success []string `json:"success"`
	Failure []string `json:"failure"`
}

// Report is that of a run, in the layout of SWE-bench. Every instance is in exactly one of
// resolved, unresolved, empty_patch, error, infra_failure, ambiguous_failure and incomplete;
// completed is the first two together.
type Report struct {
	Total            int `json:"total_instances"`
	Submitted        int `json:"submitted_instances"`
	Completed        int `json:"completed_instances"`
	Resolved         int `json:"resolved_instances"`
	Unresolved       int `json:"unresolved_instances"`
	InfraFailure     int `json:"infra_failure_instances"`
	AmbiguousFailure int `json:"ambiguous_failure_instances"`
	EmptyPatch       int `json:"empty_patch_instances"`
	Error            int `json:"error_instances"`

	SubmittedIDs        []string `json:"submitted_ids"`
	CompletedIDs        []string `json:"completed_ids"`
	IncompleteIDs       []string `json:"incomplete_ids"`
	ResolvedIDs         []string `json:"resolved_ids"`
	UnresolvedIDs       []string `json:"unresolved_ids"`
	InfraFailureIDs     []string `json:"infra_failure_ids"`
	AmbiguousFailureIDs []string `json:"ambiguous_failure_ids"`
	EmptyPatchIDs       []string `json:"empty_patch_ids"`
	ErrorIDs            []string `json:"error_ids"`

	FailureReasons map[string]string `json:"failure_reasons"` // instance -> why it is in none of the first two
	SchemaVersion  int               `json:"schema_version"`
}

// schemaVersion is that of SWE-bench's reports.
const schemaVersion = 2

// NewReport sums up outcomes. Of several for one instance the last one counts.
func NewReport(outcomes []Outcome) Report {
	r := Report{SchemaVersion: schemaVersion, FailureReasons: map[string]string{}}
	lists := []*[]string{
		&r.SubmittedIDs, &r.CompletedIDs, &r.IncompleteIDs, &r.ResolvedIDs, &r.UnresolvedIDs,
		&r.InfraFailureIDs, &r.AmbiguousFailureIDs, &r.EmptyPatchIDs, &r.ErrorIDs,
	}
	for _, list := range lists {
		*list = []string{} // not null
	}
	last := map[string]Outcome{}
	for _, o := range outcomes {
		last[o.Instance] = o
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		r.add(last[id])
	}
	r.Total, r.Submitted, r.Completed = len(last), len(r.SubmittedIDs), len(r.CompletedIDs)
	r.Resolved, r.Unresolved, r.EmptyPatch = len(r.ResolvedIDs), len(r.UnresolvedIDs), len(r.EmptyPatchIDs)
	r.InfraFailure, r.AmbiguousFailure, r.Error = len(r.InfraFailureIDs), len(r.AmbiguousFailureIDs), len(r.ErrorIDs)
	return r
}

func (r *Report) add(o Outcome) {
	if o.Status != "" || o.Empty || o.Malformed || o.NotApplied {
		r.SubmittedIDs = append(r.SubmittedIDs, o.Instance)
	}
	kind, reason := o.class()
	switch kind {
	case "resolved", "unresolved":
		r.CompletedIDs = append(r.CompletedIDs, o.Instance)
	default:
		if o.Reason != "" {
			reason = o.Reason
		}
		if reason != "" {
			r.FailureReasons[o.Instance] = reason
		}
	}
	list := map[string]*[]string{
		"resolved": &r.ResolvedIDs, "unresolved": &r.UnresolvedIDs, "empty_patch": &r.EmptyPatchIDs, "error": &r.ErrorIDs,
		"infra_failure": &r.InfraFailureIDs, "ambiguous_failure": &r.AmbiguousFailureIDs, "incomplete": &r.IncompleteIDs,
	}[kind]
	*list = append(*list, o.Instance)
}

// class is the list that an outcome is in, and why.
func (o Outcome) class() (kind, reason string) {
	switch {
	case o.Malformed:
		return "error", "malformed_prediction"
	case o.Empty:
		return "empty_patch", ""
	case o.NotApplied:
		return "error", "patch_apply_failed"
	}
	switch o.Status {
	case "resolved":
		return "resolved", ""
	case "unresolved", "agent_error": // what a crashed agent left behind was judged
		return "unresolved", ""
	case "test_error":
		return "ambiguous_failure", o.Status
	case "", "cancelled":
		return "incomplete", o.Status
	}
	return "infra_failure", o.Status
}

// InstanceReport is that of one instance.
type InstanceReport struct {
	PatchIsNone   bool             `json:"patch_is_None"`
	PatchExists   bool             `json:"patch_exists"`
	PatchApplied  bool             `json:"patch_successfully_applied"`
	Resolved      bool             `json:"resolved"`
	InfraFailure  bool             `json:"infra_failure"`
	FailureReason string           `json:"infra_failure_reason,omitempty"`
	Tests         map[string]Tests `json:"tests_status"`
}

// Report is the file report.json of an instance.
func (o Outcome) Report() map[string]InstanceReport {
	kind, reason := o.class()
	if o.Reason != "" {
		reason = o.Reason
	}
	none := Tests{}
	out := InstanceReport{
		PatchIsNone: o.Malformed, PatchExists: !o.Malformed && !o.Empty,
		Resolved: kind == "resolved", InfraFailure: kind == "infra_failure",
		Tests: map[string]Tests{
			colF2P: o.FailToPass.sorted(), colP2P: o.PassToPass.sorted(),
			"FAIL_TO_FAIL": none.sorted(), "PASS_TO_FAIL": none.sorted(),
		},
	}
	out.PatchApplied = out.PatchExists && !o.NotApplied && (kind == "resolved" || kind == "unresolved" || kind == "ambiguous_failure")
	if out.InfraFailure {
		out.FailureReason = reason
	}
	return map[string]InstanceReport{o.Instance: out}
}

func (t Tests) sorted() Tests {
	list := func(names []string) []string { return append([]string{}, slices.Sorted(slices.Values(names))...) }
	return Tests{list(t.Success), list(t.Failure)}
}

// Encoded is a report of a run or of an instance as it is written: the same for the same
// outcomes.
func Encoded[T Report | map[string]InstanceReport](report T) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(report); err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return b.Bytes(), nil
}
