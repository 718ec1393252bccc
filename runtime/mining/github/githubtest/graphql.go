package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/assayd/assayd/runtime/mining/github"
)

// node is an object of the graph: its type, and its fields, of which a list needs first.
type node struct {
	typ    string
	fields object
}

// execution is one of a query.
type execution struct {
	s         *Server
	doc       document
	variables object
	invalid   []object // errors of the query itself: there is no data then
	errors    []object
	counts    []string
}

// graph answers a query.
func (s *Server) graph(body []byte) answer {
	var q struct {
		Query     string
		Variables object
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return problem(http.StatusBadRequest, "Problems parsing JSON")
	}
	x := &execution{s: s, variables: q.Variables}
	var err error
	if x.doc, err = parse(q.Query); err != nil {
		return ok(object{"errors": []object{{"message": "Parse error on " + err.Error(), "extensions": object{"code": "parseError"}}}})
	}
	if s.w.MaxBatch > 0 && len(x.doc.query) > s.w.MaxBatch {
		return problem(http.StatusBadGateway, "Something went wrong while executing your query.")
	}
	data := object{}
	for _, f := range x.doc.query {
		x.root(f, data)
	}
	a := ok(object{"data": data})
	switch {
	case len(x.invalid) > 0:
		a.body = object{"errors": x.invalid}
	case len(x.errors) > 0:
		a.body.(object)["errors"] = x.errors
	}
	if len(x.invalid) == 0 {
		a.counts = x.counts
	}
	return a
}

func (x *execution) argument(f selected, name string) any {
	value := f.args[name]
	if variable, ok := strings.CutPrefix(value, "$"); ok {
		return x.variables[variable]
	}
	return strings.Trim(value, `"`)
}

// root answers for one repository of a batch.
func (x *execution) root(f selected, data object) {
	if f.name != "repository" {
		x.refuse(f.name, "Query")
		return
	}
	owner, _ := x.argument(f, "owner").(string)
	name, _ := x.argument(f, "name").(string)
	name = owner + "/" + name
	now := x.s.w.present(name)
	r, id := x.s.w.repository(now)
	if x.s.w.gone(now) != 0 || id == 0 {
		data[f.alias] = nil
		x.missing(fmt.Sprintf("Could not resolve to a Repository with the name '%s'.", name), f.alias)
		for _, below := range f.below {
			if below.name == "pullRequest" {
				x.count(name, x.argument(below, "number"))
			}
		}
		return
	}
	out := object{}
	data[f.alias] = out
	for _, below := range x.flat(f.below, "Repository") {
		if below.name != "pullRequest" {
			x.field(repositoryNode(r), below, out)
			continue
		}
		number, _ := x.argument(below, "number").(float64)
		x.count(name, number)
		p, found := x.s.w.pull(now, int(number))
		if !found || x.s.w.gone(p.Ref.String()) != 0 {
			out[below.alias] = nil
			x.missing(fmt.Sprintf("Could not resolve to a PullRequest with the number of %d.", int(number)), f.alias, below.alias)
			continue
		}
		into := object{}
		out[below.alias] = into
		x.selection(x.s.pullNode(p), below.below, into)
	}
}

func (x *execution) count(name string, number any) {
	x.counts = append(x.counts, fmt.Sprintf("GRAPHQL %s#%v", name, number))
}

func (x *execution) missing(message string, path ...any) {
	x.errors = append(x.errors, object{"type": "NOT_FOUND", "path": path, "message": message})
}

func (x *execution) refuse(field, typ string) {
	x.invalid = append(x.invalid, object{
		"path": []any{"query", field}, "extensions": object{"code": "undefinedField", "typeName": typ, "fieldName": field},
		"message": fmt.Sprintf("Field '%s' doesn't exist on type '%s'", field, typ),
	})
}

// flat puts the fields of fragments in their places.
func (x *execution) flat(fields []selected, typ string) (all []selected) {
	for _, f := range fields {
		if !f.spread {
			all = append(all, f)
			continue
		}
		if on := x.doc.types[f.name]; on != typ {
			x.invalid = append(x.invalid, object{"message": fmt.Sprintf("Fragment %s on %s can't be spread inside %s", f.name, on, typ), "extensions": object{"code": "cannotSpreadFragment"}})
			continue
		}
		all = append(all, x.flat(x.doc.fragments[f.name], typ)...)
	}
	return all
}

func (x *execution) selection(n node, fields []selected, out object) {
	for _, f := range x.flat(fields, n.typ) {
		x.field(n, f, out)
	}
}

func (x *execution) field(n node, f selected, out object) {
	value, known := n.fields[f.name]
	if f.name == "__typename" {
		value, known = n.typ, true
	}
	if !known {
		x.refuse(f.name, n.typ)
		return
	}
	switch value := value.(type) {
	case node:
		into := object{}
		out[f.alias] = into
		if strings.HasSuffix(value.typ, "Connection") {
			value = x.first(value, f)
		}
		x.selection(value, f.below, into)
	case []node:
		list := []object{}
		for _, one := range value {
			into := object{}
			list = append(list, into)
			x.selection(one, f.below, into)
		}
		out[f.alias] = list
	default:
		out[f.alias] = value
	}
}

// first cuts a list to what is asked for.
func (x *execution) first(n node, f selected) node {
	first, asked := number(f.args["first"], 0), f.args["first"] != ""
	cut := node{n.typ, object{}}
	for name, value := range n.fields {
		if list, ok := value.([]node); ok {
			if asked && (first < 1 || first > 100) {
				x.invalid = append(x.invalid, object{"type": "EXCESSIVE_PAGINATION", "message": "first is from 1 to 100"})
			}
			value = list[:min(max(first, 0), len(list))]
		}
		cut.fields[name] = value
	}
	for _, below := range f.below {
		if _, list := n.fields[below.name].([]node); list && !asked {
			x.invalid = append(x.invalid, object{"type": "MISSING_PAGINATION_BOUNDARIES", "message": "You must provide a `first` or `last` value to properly paginate the connection."})
		}
	}
	return cut
}

func connection(typ, field string, all []node) node {
	return node{typ + "Connection", object{"totalCount": len(all), field: all}}
}

func actor(login, kind string) any {
	if login == "" {
		return nil
	}
	if kind == "" {
		kind = "User"
	}
	if kind == "Bot" {
		login = strings.TrimSuffix(login, "[bot]") // as GraphQL has it
	}
	return node{kind, object{"login": login}}
}

func named(typ, name string) any {
	if name == "" {
		return nil
	}
	return node{typ, object{"name": name}}
}

func repositoryNode(r github.Repository) node {
	owner, name, _ := strings.Cut(r.Name, "/")
	var languages []node
	for name, size := range r.Languages {
		languages = append(languages, node{"LanguageEdge", object{"size": size, "node": node{"Language", object{"name": name}}}})
	}
	o := object{
		"name": name, "nameWithOwner": r.Name, "owner": node{r.OwnerType, object{"login": owner}}, "primaryLanguage": named("Language", r.Language),
		"languages": connection("Language", "edges", languages), "stargazerCount": r.Stars, "licenseInfo": nil,
		"defaultBranchRef": named("Ref", r.DefaultBranch), "isFork": r.Fork, "isArchived": r.Archived, "isPrivate": r.Private, "diskUsage": r.KiB,
	}
	if r.License != "" {
		o["licenseInfo"] = node{"License", object{"spdxId": r.License, "name": r.License}}
	}
	return node{"Repository", o}
}

func (s *Server) pullNode(p github.Pull) node {
	var labels, issues, files, parents []node
	for _, l := range p.Labels {
		labels = append(labels, node{"Label", object{"name": l}})
	}
	for _, i := range p.Issues {
		of, _ := s.w.repository(i.Repo)
		repository := node{"Repository", object{"nameWithOwner": i.Repo, "isPrivate": of.Private}}
		issues = append(issues, node{"Issue", object{"number": i.Number, "title": i.Title, "body": i.Body, "repository": repository}})
	}
	for _, f := range p.Files[:min(len(p.Files), maxListed)] {
		kind := strings.ToUpper(f.Status)
		if f.Status == "removed" {
			kind = "DELETED"
		}
		files = append(files, node{"PullRequestChangedFile", object{"path": f.Name, "changeType": kind, "additions": f.Added, "deletions": f.Removed}})
	}
	for _, sha := range p.Parents {
		parents = append(parents, node{"Commit", object{"oid": sha}})
	}
	o := object{
		"number": p.Number, "title": p.Title, "body": p.Body, "state": "CLOSED", "merged": p.Merged, "mergedAt": nil,
		"author": actor(p.Author, p.AuthorType), "mergedBy": actor(p.MergedBy, ""),
		"labels": connection("Label", "nodes", labels), "closingIssuesReferences": connection("Issue", "nodes", issues),
		"baseRefName": p.BaseRef, "headRefName": p.HeadRef, "baseRefOid": p.BaseSHA, "headRefOid": p.HeadSHA, "mergeCommit": nil,
		"files": connection("PullRequestChangedFile", "nodes", files), "changedFiles": p.ChangedFiles,
		"additions": p.Added, "deletions": p.Removed, "commits": node{"PullRequestCommitConnection", object{"totalCount": p.Commits}},
	}
	if p.Merged {
		o["mergedAt"], o["state"] = date(p.MergedAt), "MERGED"
	}
	if p.MergeSHA != "" {
		o["mergeCommit"] = node{"Commit", object{"oid": p.MergeSHA, "parents": connection("Commit", "nodes", parents)}}
	}
	return node{"PullRequest", o}
}
