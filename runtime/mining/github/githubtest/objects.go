package githubtest

import (
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/mining/github"
)

// repository is one as REST shows it.
func (s *Server) repository(r github.Repository, id int) object {
	owner, name, _ := strings.Cut(r.Name, "/")
	o := object{
		"id": id, "name": name, "full_name": r.Name, "private": r.Private,
		"owner": object{"login": owner, "type": r.OwnerType}, "fork": r.Fork, "archived": r.Archived, "size": r.KiB,
		"stargazers_count": r.Stars, "language": orNull(r.Language), "license": nil, "default_branch": r.DefaultBranch,
		"url": s.API + "/repos/" + r.Name,
	}
	if r.License != "" {
		o["license"] = object{"key": strings.ToLower(r.License), "name": r.License, "spdx_id": r.License}
	}
	return o
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func user(login, kind string) any {
	if login == "" {
		return nil
	}
	if kind == "" {
		kind = "User"
	}
	return object{"login": login, "type": kind}
}

// pullObject is a pull request as REST shows it, in a list or alone.
func (s *Server) pullObject(p github.Pull, alone bool) object {
	r, id := s.w.repository(p.Repo)
	labels := []object{}
	for _, l := range p.Labels {
		labels = append(labels, object{"name": l})
	}
	o := object{
		"url": s.API + "/repos/" + p.Repo, "number": p.Number, "state": "closed", "title": p.Title, "body": orNull(p.Body),
		"user": user(p.Author, p.AuthorType), "labels": labels,
		"created_at": date(created(p)), "updated_at": date(s.w.updated(p)), "closed_at": date(p.MergedAt), "merged_at": nil,
		"merge_commit_sha": orNull(p.MergeSHA),
		"base":             object{"ref": p.BaseRef, "sha": p.BaseSHA, "repo": s.repository(r, id)},
		"head":             object{"ref": p.HeadRef, "sha": p.HeadSHA, "repo": nil},
	}
	if p.Merged {
		o["merged_at"] = date(p.MergedAt)
	}
	if alone {
		o["merged"], o["merged_by"] = p.Merged, user(p.MergedBy, "")
		o["commits"], o["additions"], o["deletions"], o["changed_files"] = p.Commits, p.Added, p.Removed, p.ChangedFiles
	}
	return o
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// maxListed is how many files are listed.
const maxListed = 3000

func file(f github.File) object {
	o := object{"filename": f.Name, "status": f.Status, "additions": f.Added, "deletions": f.Removed, "changes": f.Added + f.Removed}
	if f.Previous != "" {
		o["previous_filename"] = f.Previous
	}
	return o
}

// found is a pull request as search shows it, and the list of issues.
func (s *Server) found(p github.Pull) object {
	links := object{"url": s.API + "/repos/" + p.Repo, "merged_at": nil}
	if p.Merged {
		links["merged_at"] = date(p.MergedAt)
	}
	return object{
		"repository_url": s.API + "/repos/" + p.Repo, "number": p.Number, "title": p.Title, "body": orNull(p.Body), "state": "closed",
		"created_at": date(created(p)), "closed_at": date(p.MergedAt), "pull_request": links,
	}
}
