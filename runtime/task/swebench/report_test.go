package swebench_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task/swebench"
)

func TestEachInstanceIsInOneListOfTheReport(t *testing.T) {
	got, err := swebench.Encoded(swebench.NewReport([]swebench.Outcome{
		{Instance: "right", Status: "resolved"},
		{Instance: "wrong", Status: "resolved"},
		{Instance: "wrong", Status: "unresolved"},
		{Instance: "crash", Status: "agent_error"},
		{Instance: "empty", Status: "unresolved", Empty: true},
		{Instance: "malformed", Malformed: true},
		{Instance: "unapplied", Status: "unresolved", NotApplied: true},
		{Instance: "tests", Status: "test_error"},
		{Instance: "infra", Status: "infra_error", Reason: "engine <gone>"},
		{Instance: "setup", Status: "setup_error"},
		{Instance: "sanity", Status: "sanity_fail"},
		{Instance: "none"},
		{Instance: "cancelled", Status: "cancelled"},
	}))
	want := `{
    "total_instances": 12,
    "submitted_instances": 11,
    "completed_instances": 3,
    "resolved_instances": 1,
    "unresolved_instances": 2,
    "infra_failure_instances": 3,
    "ambiguous_failure_instances": 1,
    "empty_patch_instances": 1,
    "error_instances": 2,
    "submitted_ids": [
        "cancelled",
        "crash",
        "empty",
        "infra",
        "malformed",
        "right",
        "sanity",
        "setup",
        "tests",
        "unapplied",
        "wrong"
    ],
    "completed_ids": [
        "crash",
        "right",
        "wrong"
    ],
    "incomplete_ids": [
        "cancelled",
        "none"
    ],
    "resolved_ids": [
        "right"
    ],
    "unresolved_ids": [
        "crash",
        "wrong"
    ],
    "infra_failure_ids": [
        "infra",
        "sanity",
        "setup"
    ],
    "ambiguous_failure_ids": [
        "tests"
    ],
    "empty_patch_ids": [
        "empty"
    ],
    "error_ids": [
        "malformed",
        "unapplied"
    ],
    "failure_reasons": {
        "cancelled": "cancelled",
        "infra": "engine <gone>",
        "malformed": "malformed_prediction",
        "sanity": "sanity_fail",
        "setup": "setup_error",
        "tests": "test_error",
        "unapplied": "patch_apply_failed"
    },
    "schema_version": 2
}
`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestTheReportOfAnInstance(t *testing.T) {
	got, err := swebench.Encoded(swebench.Outcome{
		Instance: "a", Status: "unresolved",
		FailToPass: swebench.Tests{Success: []string{"t2", "t1"}, Failure: []string{"t3"}}, PassToPass: swebench.Tests{Success: []string{"t4"}},
	}.Report())
	want := `{
    "a": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": true,
        "resolved": false,
        "infra_failure": false,
        "tests_status": {
            "FAIL_TO_FAIL": {
                "success": [],
                "failure": []
            },
            "FAIL_TO_PASS": {
                "success": [
                    "t1",
                    "t2"
                ],
                "failure": [
                    "t3"
                ]
            },
            "PASS_TO_FAIL": {
                "success": [],
                "failure": []
            },
            "PASS_TO_PASS": {
                "success": [
                    "t4"
                ],
                "failure": []
            }
        }
    }
}
`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name, c := range map[string]struct {
		outcome               swebench.Outcome
		none, exists, applied bool
	}{
		"empty":       {swebench.Outcome{Status: "unresolved", Empty: true}, false, false, false},
		"malformed":   {swebench.Outcome{Malformed: true}, true, false, false},
		"not applied": {swebench.Outcome{Status: "unresolved", NotApplied: true}, false, true, false},
		"infra":       {swebench.Outcome{Status: "infra_error"}, false, true, false},
		"resolved":    {swebench.Outcome{Status: "resolved"}, false, true, true},
	} {
		r := c.outcome.Report()[""]
		if r.PatchIsNone != c.none || r.PatchExists != c.exists || r.PatchApplied != c.applied || r.InfraFailure != (name == "infra") || r.Resolved != (name == "resolved") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
