package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// strict are the rules of a spec that says nothing but a language.
func strict() Rules {
	return Rules{
		Languages: []string{"golang", "C++"}, MinStars: 20, OrgReposOnly: true, ExcludeBots: true, Files: Range{1, 5}, AddedLines: Range{3, 100},
		ExcludeDocsOnly: true, ExcludeTestsOnly: true, ExcludeGenerated: true, ExcludeReverts: true, ExcludeBackports: true,
		ExcludeForks: true, ExcludeArchived: true, MinDescription: 80, Licenses: []string{"MIT", "Apache-2.0"},
		ExcludeRepos: []string{"evil/*", "Acme/secret"}, Decontaminate: []string{"acme/known", "acme/Shop#7", " acme__shop-8", "bad"},
	}
}

// sound is a pull request that breaks none of them.
func sound() github.Pull {
	return github.Pull{
		Ref: github.Ref{Repo: "acme/shop", Number: 1}, Title: "Count the empty cart as zero", Body: strings.Repeat("Words. ", 12),
		Author: "mary", AuthorType: "User", MergedBy: "mergify[bot]", HeadRef: "mary:fix-cart", Merged: true,
		Files:        []github.File{{Name: "cart.go", Status: "modified", Added: 5, Removed: 1}, {Name: "cart_test.go", Status: "modified", Added: 300}},
		ChangedFiles: 2,
		Repository:   github.Repository{Name: "acme/shop", OwnerType: "Organization", Language: "Go", Stars: 20, License: "mit"},
	}
}

func told(err error) string {
	if r := reason.Of(err); r != nil {
		return r.Code
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return ""
}

// files makes files of "name+added-removed".
func files(list string) []github.File {
	var all []github.File
	for word := range strings.FieldsSeq(list) {
		f := github.File{Status: "modified"}
		name, counts, _ := strings.Cut(word, "+")
		f.Name = name
		fmt.Sscanf(counts, "%d-%d", &f.Added, &f.Removed)
		all = append(all, f)
	}
	return all
}

func TestWhyAPullRequestIsRejected(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p *github.Pull, r *Rules)
		want   string
	}{
		{"a sound one is not", func(*github.Pull, *Rules) {}, ""},
		{"private", func(p *github.Pull, _ *Rules) { p.Repository.Private = true }, "private"},
		{"listed", func(p *github.Pull, _ *Rules) { p.Repo = "Acme/Secret" }, "excluded_repo"},
		{"listed by a glob", func(p *github.Pull, _ *Rules) { p.Repo = "evil/anything" }, "excluded_repo"},
		{"a glob that is none is trouble", func(_ *github.Pull, r *Rules) { r.ExcludeRepos = []string{"a/["} }, `error: exclude_repos: "a/[": syntax error in pattern`},
		{"a known repository", func(p *github.Pull, _ *Rules) { p.Repo = "Acme/Known" }, "decontaminated"},
		{"a known pull request", func(p *github.Pull, _ *Rules) { p.Number = 7 }, "decontaminated"},
		{"a known instance", func(p *github.Pull, _ *Rules) { p.Number = 8 }, "decontaminated"},
		{"the next one is not known", func(p *github.Pull, _ *Rules) { p.Number = 78 }, ""},
		{"a bot", func(p *github.Pull, _ *Rules) { p.Author, p.AuthorType = "helper", "Bot" }, "bot"},
		{"bots may be wanted", func(p *github.Pull, r *Rules) { p.AuthorType, r.ExcludeBots = "Bot", false }, ""},
		{"a person's repository", func(p *github.Pull, _ *Rules) { p.Repository.OwnerType = "User" }, "not_org"},
		{"whose it is is not known", func(p *github.Pull, _ *Rules) { p.Repository.OwnerType = "" }, "not_org"},
		{"a person's repository is wanted", func(p *github.Pull, r *Rules) { p.Repository.OwnerType, r.OrgReposOnly = "User", false }, ""},
		{"archived", func(p *github.Pull, _ *Rules) { p.Repository.Archived = true }, "archived"},
		{"fork", func(p *github.Pull, _ *Rules) { p.Repository.Fork = true }, "fork"},
		{"another language", func(p *github.Pull, _ *Rules) { p.Repository.Language = "Haskell" }, "language"},
		{"no language", func(p *github.Pull, _ *Rules) { p.Repository.Language = "" }, "language"},
		{"a language by its other name", func(p *github.Pull, r *Rules) { p.Repository.Language, r.Languages = "C++", []string{"cpp", "go"} }, ""},
		{"the change is in another language", func(p *github.Pull, _ *Rules) { p.Files = files("web/a.ts+50-1 cart.go+5-1") }, "language"},
		{"any language", func(p *github.Pull, r *Rules) { p.Repository.Language, r.Languages = "", nil }, ""},
		{"too few stars", func(p *github.Pull, _ *Rules) { p.Repository.Stars = 19 }, "stars"},
		{"no stars are none", func(p *github.Pull, _ *Rules) { p.Repository.Stars = 0 }, "stars"},
		{"another licence", func(p *github.Pull, _ *Rules) { p.Repository.License = "GPL-3.0" }, "license"},
		{"no licence", func(p *github.Pull, _ *Rules) { p.Repository.License = "" }, "license"},
		{"a licence that nobody knows", func(p *github.Pull, _ *Rules) { p.Repository.License = "NOASSERTION" }, "license"},
		{"a choice of licences", func(p *github.Pull, _ *Rules) { p.Repository.License = "GPL-3.0 OR Apache-2.0" }, ""},
		{"two licences", func(p *github.Pull, _ *Rules) { p.Repository.License = "(GPL-3.0 AND Apache-2.0)" }, "license"},
		{"any licence", func(p *github.Pull, r *Rules) { p.Repository.License, r.Licenses = "", []string{"any"} }, ""},
		{"revert", func(p *github.Pull, _ *Rules) { p.Title = `Revert "Count the empty cart as zero"` }, "revert"},
		{"revert by its body", func(p *github.Pull, _ *Rules) { p.Body += "\n\nReverts acme/shop#12\n" }, "revert"},
		{"reverts are wanted", func(p *github.Pull, r *Rules) { p.Title, r.ExcludeReverts = `Revert "Count"`, false }, ""},
		{"backport", func(p *github.Pull, _ *Rules) { p.Title = "[release-1.2] Count the empty cart" }, "backport"},
		{"too many files", func(p *github.Pull, _ *Rules) { p.Files = files("a.go+5 b.go c.go d.go e.go f.go") }, "many_files"},
		{"what nobody wrote is not counted", func(p *github.Pull, _ *Rules) {
			p.Files = files("a.go+5 b.pb.go+900 c.pb.go+2 d.pb.go+1 go.sum+400 dist/x.js+1000 vendor/x/y.go+1")
		}, ""},
		{"it is counted on demand", func(p *github.Pull, r *Rules) {
			p.Files, r.ExcludeGenerated = files("a.go+5 b.pb.go+900"), false
		}, "many_lines"},
		{"there are more files than are listed", func(p *github.Pull, _ *Rules) { p.FilesCut, p.ChangedFiles = true, 6 }, "many_files"},
		{"generated alone", func(p *github.Pull, _ *Rules) { p.Files = files("a.pb.go+10 go.sum+5") }, "generated_only"},
		{"locked versions alone", func(p *github.Pull, _ *Rules) { p.Files = files("package-lock.json+500-20") }, "generated_only"},
		{"vendored alone", func(p *github.Pull, _ *Rules) { p.Files = files("vendor/a/b.go+10 go.sum+5 go.mod+1-1") }, "vendored"},
		{"mostly vendored", func(p *github.Pull, _ *Rules) { p.Files = files("a.go+5 vendor/a/b.go+100") }, "vendored"},
		{"tests alone", func(p *github.Pull, _ *Rules) { p.Files = files("a_test.go+50 testdata/a.json+9 README.md+1") }, "tests_only"},
		{"tests alone are wanted", func(p *github.Pull, r *Rules) {
			p.Files, r.ExcludeTestsOnly, r.AddedLines.Min = files("a_test.go+50"), false, 0
		}, ""},
		{"documents alone", func(p *github.Pull, _ *Rules) {
			p.Files = files("README.md+9 docs/a.go+9 .github/workflows/ci.yml+9 go.mod+1")
		}, "docs_only"},
		{"documents alone are wanted", func(p *github.Pull, r *Rules) {
			p.Files, r.ExcludeDocsOnly, r.AddedLines.Min = files("README.md+9"), false, 0
		}, ""},
		{"no files", func(p *github.Pull, _ *Rules) { p.Files, p.ChangedFiles = nil, 0 }, "few_files"},
		{"too few files", func(_ *github.Pull, r *Rules) { r.Files.Min = 3 }, "few_files"},
		{"too few lines of source", func(p *github.Pull, _ *Rules) { p.Files = files("a.go+2-40 a_test.go+80 b.yml+9 README.md+9") }, "few_lines"},
		{"nothing is added", func(p *github.Pull, _ *Rules) { p.Files = files("a.go+0-40") }, "few_lines"},
		{"too many lines of source", func(p *github.Pull, _ *Rules) { p.Files = files("a.go+60 b.go+41") }, "many_lines"},
		{"the first reason is told", func(p *github.Pull, _ *Rules) { p.Repository.Stars, p.Repository.License, p.Files = 0, "", nil }, "stars"},
		{"too few words", func(p *github.Pull, _ *Rules) { p.Body = "Short." }, "description"},
		{"words of a template do not count", func(p *github.Pull, _ *Rules) { p.Body = "<!-- " + p.Body + " --> x <!-- open" + p.Body }, "description"},
		{"words of an issue count", func(p *github.Pull, _ *Rules) { p.Issues, p.Body = []github.Issue{{Title: "Cart", Body: p.Body}}, "" }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, r := sound(), strict()
			tt.change(&p, &r)
			if got := told(Pull(p, r)); got != tt.want {
				t.Errorf("the reason is %q instead of %q", got, tt.want)
			}
		})
	}
}

func TestWhatAnArchiveTellsIsEnoughForSome(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Candidate
		want string
	}{
		{"nothing is known", Candidate{Repo: "acme/shop", Number: 1}, ""},
		{"a person's work", Candidate{Repo: "acme/shop", Author: "mary", HeadRef: "fix", Org: new(true)}, ""},
		{"a bot's work", Candidate{Repo: "acme/shop", Author: "dependabot[bot]"}, "bot"},
		{"a bot's branch", Candidate{Repo: "acme/shop", HeadRef: "dependabot/pip/x-2"}, "bot"},
		{"no organisation", Candidate{Repo: "acme/shop", Org: new(false)}, "not_org"},
		{"listed", Candidate{Repo: "evil/x"}, "excluded_repo"},
		{"known", Candidate{Repo: "acme/shop", Number: 8}, "decontaminated"},
		{"a revert", Candidate{Repo: "acme/shop", HeadRef: "revert-12-fix"}, "revert"},
		{"a backport", Candidate{Repo: "acme/shop", Title: "Backport #12: count"}, "backport"},
	} {
		if got := told(Early(tt.c, strict())); got != tt.want {
			t.Errorf("%s: the reason is %q instead of %q", tt.name, got, tt.want)
		}
		if got := Early(tt.c, Rules{}); got != nil {
			t.Errorf("%s: no rules, and yet %v", tt.name, got)
		}
	}
}

func TestWhoIsABot(t *testing.T) {
	for name, want := range map[string]bool{
		"renovate[bot]": true, "renovate-bot": true, "my_bot": true, "k8s-ci-robot": true, "Dependabot": true, "bot-of-acme": true, "acme-bot-2": true,
		"Copilot": true, "aws-cdk-automation": true, "app/dependabot": true,
		"talbot": false, "abbot": false, "robotnik": false, "mary": false, "": false, "botond": false, "lucy-ci": false,
	} {
		if got := bot(name, "User", "fix") != ""; got != want {
			t.Errorf("%q is a bot: %t", name, got)
		}
	}
	for branch, want := range map[string]bool{
		"dependabot/npm_and_yarn/x-1": true, "dependabot-npm": true, "renovate/x": true, "snyk-fix-0a1b": true, "snyk-upgrade-0a1b": true, "release-please--branches--main": true,
		"pre-commit-ci-update-config": true, "l10n_main": true, "l10n_crowdin": true, "acme:renovate/x": true, "create-pull-request/patch": true, "greenkeeper/x": true,
		"changeset-release/main": true, "imgbot": true, "all-contributors/add-mary": true,
		"fix-renovate": false, "main": false, "": false, "feature/dependabot": false, "snyk-support": false, "l10n-plurals": false, "release-1.2": false,
	} {
		if got := bot("mary", "User", branch) != ""; got != want {
			t.Errorf("%q is the branch of a bot: %t", branch, got)
		}
	}
}

func TestRevertsAndBackports(t *testing.T) {
	for title, want := range map[string]string{
		`Revert "x"`: "r", `Reverts #12`: "r", `revert: feat x`: "r", `revert(cart)!: x`: "r", `fix: revert "x"`: "r", `[cart] Revert #12`: "r", `fix: revert commit 0a1b2c3`: "r",
		"Back out changeset 0a1b2c3": "r", "Rollback #12": "r", "Revert the order of items": "r",
		"fix: revert transactions on zero": "", "Reverting is slow": "", "feat: irreversible": "", "Fix rollback of nested transactions": "",
		"Backport #12": "b", "[Backport 7.x] Fix": "b", "[7.x] Fix": "b", "[7.17] Fix": "b", "[v1.2.3] Fix": "b", "[3.11] gh-1: Fix (GH-2)": "b", "[release-branch.go1.21] net: x": "b",
		"[stable/queens] Fix": "b", "Fix (backport #12)": "b", "fix: x (backport of #12)": "b", "Automated cherry pick of #12: x": "b", "Cherry-pick x to v1": "b", "Backport fix to 2.1": "b",
		"Fix x (cherry picked from commit 0a1b)": "b",
		"[cart] Fix":                             "", "[WIP] Fix": "", "fix: drop backports module": "", "Support 3.11": "", "[docs] 3.11": "", "Fix cherry-picking in the UI": "", "Release 1.2": "",
	} {
		got := ""
		if isRevert(title, "", "") {
			got += "r"
		}
		if isBackport(title, "", "") {
			got += "b"
		}
		if got != want {
			t.Errorf("%q is %q instead of %q", title, got, want)
		}
	}
	for branch, want := range map[string]bool{
		"backport/12": true, "backport-12-to-1.x": true, "mergify/bp/1.x/pr-12": true, "cherry-pick-12": true, "user/cherry-pick-0a1": true, "backport-0a1b2c3-3.11": true,
		"backports-module": false, "fix-12": false, "": false,
	} {
		if got := isBackport("Fix", branch, ""); got != want {
			t.Errorf("%q is the branch of a backport: %t", branch, got)
		}
	}
	for body, want := range map[string]string{
		"Reverts acme/shop#12": "r", "x\nThis reverts commit 0a1b2c3.": "r", "Reverts #12": "r",
		"(cherry picked from commit 0a1b2c3d)": "b", "Backport of #12": "b", "This is an automatic backport of pull request #12": "b", "Backports #12\n": "b",
		"It no longer reverts commit order": "", "See the backport guide": "", "": "",
	} {
		got := ""
		if isRevert("Fix", "", body) {
			got += "r"
		}
		if isBackport("Fix", "", body) {
			got += "b"
		}
		if got != want {
			t.Errorf("the body %q is %q instead of %q", body, got, want)
		}
	}
}

func TestTheLanguageOfAChange(t *testing.T) {
	for list, want := range map[string]string{
		"a.go+5 b.py+9 b_test.go+90": "python", "a.go+1 b.py+1": "go", "README.md+9": "", "x.unknown+9": "", "a.rs": "rust",
	} {
		if got := Language(files(list)); got != want {
			t.Errorf("%s: %q instead of %q", list, got, want)
		}
	}
}
