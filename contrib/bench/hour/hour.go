package hour

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Generated is what an hour was made of.
type Generated struct {
	Bytes, Packed int64
	events, pulls int
	Merges        int
}

// Generate writes an hour of GH Archive in its fullest form, of as many bytes unpacked: of a
// hundred events nine are of pull requests, with all that was in them before October 2025,
// and of a hundred of those forty are merges. It is the same each time.
func Generate(w io.Writer, size int64) (Generated, error) {
	packed := &counting{w: w}
	z := gzip.NewWriter(packed)
	raw := &counting{w: z}
	b := bufio.NewWriterSize(raw, 1<<20)
	h := hourWriter{Writer: b, random: rand.New(rand.NewPCG(2025, 10)), words: strings.Fields(vocabulary)}
	var g Generated
	for raw.n+int64(b.Buffered()) < size {
		g.events++
		switch n := h.random.IntN(100); {
		case n < 9:
			g.pulls++
			if h.pull(g.events) {
				g.Merges++
			}
		case n < 65:
			h.push()
		case n < 85:
			h.comment()
		default:
			h.event("WatchEvent", `{"action":"started"}`)
		}
	}
	err := errors.Join(b.Flush(), z.Close())
	g.Bytes, g.Packed = raw.n, packed.n
	return g, err
}

type counting struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// hourWriter writes events. Errors stay in its writer.
type hourWriter struct {
	*bufio.Writer
	random *rand.Rand
	words  []string
	id     int64
}

func (h *hourWriter) event(kind, payload string) {
	h.id += 1 + h.random.Int64N(9)
	login, repo := h.login(), h.repo()
	org := ""
	if h.random.IntN(3) == 0 {
		org = fmt.Sprintf(`,"org":{"id":%d,"login":%q,"gravatar_id":"","url":"https://api.github.com/orgs/%[2]s","avatar_url":"https://avatars.githubusercontent.com/u/%[1]d?"}`, h.random.IntN(1e8), login)
	}
	fmt.Fprintf(h, `{"id":"%d","type":%q,"actor":{"id":%d,"login":%q,"display_login":%[4]q,"gravatar_id":"","url":"https://api.github.com/users/%[4]s","avatar_url":"https://avatars.githubusercontent.com/u/%[3]d?"},`+
		`"repo":{"id":%[5]d,"name":%[6]q,"url":"https://api.github.com/repos/%[6]s"},"payload":%[7]s,"public":true,"created_at":"2025-10-06T15:%02[8]d:%02[9]dZ"%[10]s}`+"\n",
		45193146683+h.id, kind, h.random.IntN(1e8), login, h.random.IntN(1e9), repo, payload, h.random.IntN(60), h.random.IntN(60), org)
}

func (h *hourWriter) login() string { return h.word() + h.word() + fmt.Sprint(h.random.IntN(1000)) }
func (h *hourWriter) repo() string  { return h.login() + "/" + h.word() + "-" + h.word() }
func (h *hourWriter) sha() string {
	return fmt.Sprintf("%016x%016x%08x", h.random.Uint64(), h.random.Uint64(), h.random.Uint32())
}

func (h *hourWriter) word() string { return h.words[h.random.IntN(len(h.words))] }

// prose is text of about so many words, with what is escaped in JSON. Words follow each other
// as in other texts, so that they pack as well.
func (h *hourWriter) prose(words int) string {
	var b strings.Builder
	for words > 0 {
		at, n := h.random.IntN(len(h.words)-8), 3+h.random.IntN(5)
		b.WriteString(strings.Join(h.words[at:at+n], " "))
		if words -= n; h.random.IntN(7) == 0 {
			fmt.Fprintf(&b, `.\r\n\r\n\"%x\" `, h.random.IntN(1<<16))
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

const vocabulary = `add all also and api archive be because before branch bug build by cache call change check code commit
config core data default dev do doc error event fail file fix for from function get go handle has if in index install into
is issue it key lib line list load log main make merge method missing model module more move name new no node not now of on
option or output package page parse path plugin pull read refactor release remove rename request return run script see server
set should size so some spec state style support sync task test that the then this time to tool type ui update use user value
version view was web when which will with work write you`

func (h *hourWriter) push() {
	var commits []string
	for range 1 + h.random.IntN(5) {
		commits = append(commits, fmt.Sprintf(`{"sha":%q,"author":{"email":"%s@users.noreply.github.com","name":%q},"message":"%s","distinct":true,"url":"https://api.github.com/repos/%s/commits/%[1]s"}`,
			h.sha(), h.login(), h.login(), h.prose(20), h.repo()))
	}
	h.event("PushEvent", fmt.Sprintf(`{"repository_id":%d,"push_id":%d,"size":%d,"distinct_size":%[3]d,"ref":"refs/heads/main","head":%q,"before":%q,"commits":[%s]}`,
		h.random.IntN(1e9), h.random.Int64N(1e11), len(commits), h.sha(), h.sha(), strings.Join(commits, ",")))
}

func (h *hourWriter) comment() {
	repo := h.repo()
	h.event("IssueCommentEvent", fmt.Sprintf(`{"action":"created","issue":{"url":"https://api.github.com/repos/%[1]s/issues/%[2]d",%[3]s"id":%[4]d,"title":"%[5]s","user":%[6]s,"body":"%[7]s"},"comment":{"id":%[8]d,"user":%[9]s,"body":"%[10]s"}}`,
		repo, h.random.IntN(1e5), links("https://api.github.com/repos/"+repo+"/issues/1", "labels comments events timeline"), h.random.IntN(1e9), h.prose(8), h.person(),
		h.prose(150), h.random.IntN(1e9), h.person(), h.prose(150)))
}

// pull writes the event of a pull request, and tells whether it is a merge.
func (h *hourWriter) pull(number int) bool {
	repo, action, merged := h.repo(), "opened", false
	switch n := h.random.IntN(100); {
	case n < 40:
		action, merged = "closed", true
	case n < 55:
		action = "closed"
	}
	api := fmt.Sprintf("https://api.github.com/repos/%s/pulls/%d", repo, number)
	branch := func(ref string) string {
		return fmt.Sprintf(`{"label":"x:%[1]s","ref":%[1]q,"sha":%q,"user":%s,"repo":%s}`, ref, h.sha(), h.person(), h.repository(repo))
	}
	h.event("PullRequestEvent", fmt.Sprintf(`{"action":%q,"number":%d,"pull_request":{"url":%q,"id":%d,"node_id":"PR_%s",%s"state":"open","locked":false,"title":"%s","user":%s,"body":"%s",`+
		`"merge_commit_sha":%q,"assignee":null,"requested_reviewers":[],"labels":[],"draft":false,"head":%s,"base":%s,"_links":{%s"self":null},"author_association":"CONTRIBUTOR","auto_merge":null,`+
		`"merged":%t,"mergeable":null,"merged_by":%s,"comments":%d,"review_comments":%d,"maintainer_can_modify":false,"commits":3,"additions":%d,"deletions":%d,"changed_files":14}}`,
		action, number, api, h.random.IntN(1e9), h.sha()[:16], links(api, "html diff patch issue commits review_comments comments statuses"), h.prose(8), h.person(), h.prose(170),
		h.sha(), branch(h.word()+"/"+h.word()), branch("main"), links(api, "html issue comments review_comments commits statuses"),
		merged, h.person(), h.random.IntN(30), h.random.IntN(30), h.random.IntN(1000), h.random.IntN(1000)))
	return merged
}

// person is a user as events have one.
func (h *hourWriter) person() string {
	login, id := h.login(), h.random.IntN(1e8)
	return fmt.Sprintf(`{"login":%q,"id":%d,"node_id":"U_%s","avatar_url":"https://avatars.githubusercontent.com/u/%[2]d?v=4","gravatar_id":"",%[4]s"type":"User","user_view_type":"public","site_admin":false}`,
		login, id, h.sha()[:12], links("https://api.github.com/users/"+login, "html followers following gists starred subscriptions organizations repos events received_events"))
}

// repository is one as events had it twice.
func (h *hourWriter) repository(name string) string {
	return fmt.Sprintf(`{"id":%d,"node_id":"R_%s","full_name":%q,"private":false,"owner":%s,"description":"%s","fork":false,%s"created_at":"2013-05-30T20:20:38Z","size":%d,"stargazers_count":%d,"language":"Go",`+
		`"has_issues":true,"has_projects":true,"has_downloads":true,"has_wiki":true,"has_pages":false,"has_discussions":false,"mirror_url":null,"archived":false,"disabled":false,"license":null,"allow_forking":true,`+
		`"is_template":false,"web_commit_signoff_required":false,"topics":[],"visibility":"public","forks":%d,"default_branch":"main"}`,
		h.random.IntN(1e9), h.sha()[:12], name, h.person(), h.prose(10), links("https://api.github.com/repos/"+name,
			"html forks keys collaborators teams hooks issue_events events assignees branches tags blobs git_tags git_refs trees statuses languages stargazers contributors subscribers "+
				"subscription commits git_commits comments issue_comment contents compare merges archive downloads issues pulls milestones notifications labels releases deployments clone"),
		h.random.IntN(1e6), h.random.IntN(1e4), h.random.IntN(1e3))
}

// links are members whose values are addresses below one.
func links(base, names string) string {
	var b strings.Builder
	for name := range strings.FieldsSeq(names) {
		fmt.Fprintf(&b, `"%s_url":"%s/%s{/number}",`, name, base, name)
	}
	return b.String()
}
