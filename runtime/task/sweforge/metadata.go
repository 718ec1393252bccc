package sweforge

import (
	"strconv"
	"strings"
)

// Prefixes of metadata that comes from the two maps of a workspace.
const (
	metaPrefix   = "meta."
	configPrefix = "install_config."
)

// TestFilesKey is the metadata that holds the files of the hidden tests with judge.patch applied, as
// TestFiles writes them: swe-forge's harness applies no patch.
const TestFilesKey = metaPrefix + testFiles

const testFiles = "test_files" // in the map meta

// imageKey is the metadata that says where the image is from, if it is not the task's own.
const (
	imageKey   = "image_from"
	fromImport = "import"
)

// metadata keeps what has no other place in a task.
func (w workspace) metadata() map[string]string {
	out := map[string]string{}
	for key, text := range map[string]string{
		"merge_commit": w.MergeCommit, "language": w.Language, "created_at": w.CreatedAt,
		"original_pr_body": w.OriginalPRBody, "status": w.Status,
	} {
		if text != "" {
			out[key] = text
		}
	}
	if w.ID != TaskName(w.ID) {
		out["id"] = w.ID
	}
	if w.DifficultyScore != 0 {
		out["difficulty_score"] = strconv.Itoa(w.DifficultyScore)
	}
	if w.QualityScore != nil {
		out["quality_score"] = strconv.FormatFloat(*w.QualityScore, 'g', -1, 64)
	}
	if w.QualityPassed {
		out["quality_passed"] = "true"
	}
	for key, text := range w.Meta {
		if key != testFiles {
			out[metaPrefix+key] = text
		}
	}
	if files := w.patched(); len(files) > 0 {
		out[TestFilesKey] = filesText(files)
	}
	if w.Image == "" {
		out[imageKey] = fromImport
	}
	for key, text := range w.InstallConfig {
		if key != "install" {
			out[configPrefix+key] = text
		}
	}
	if level := w.Meta["difficulty"]; level != "" {
		out["difficulty"] = level
	}
	return out
}

// fill puts metadata back where it came from.
func (w *workspace) fill(metadata map[string]string) {
	w.Meta, w.InstallConfig = map[string]string{}, map[string]string{}
	for key, text := range metadata {
		if name, ok := strings.CutPrefix(key, metaPrefix); ok {
			w.Meta[name] = text
		} else if name, ok := strings.CutPrefix(key, configPrefix); ok {
			w.InstallConfig[name] = text
		}
	}
	w.MergeCommit, w.Language, w.CreatedAt = metadata["merge_commit"], metadata["language"], metadata["created_at"]
	w.OriginalPRBody, w.Status = metadata["original_pr_body"], metadata["status"]
	w.QualityPassed = metadata["quality_passed"] == "true"
	if n, err := strconv.Atoi(metadata["difficulty_score"]); err == nil && n >= 0 && n < 256 {
		w.DifficultyScore = n
	}
	if f, err := strconv.ParseFloat(metadata["quality_score"], 64); err == nil && f == f {
		w.QualityScore = &f
	}
	if level := metadata["difficulty"]; level != "" {
		w.Meta["difficulty"] = level
	}
	if w.Status == "" {
		w.Status = "ready"
	}
	if w.Language == "" {
		w.Language = "unknown"
	}
}
