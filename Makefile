# Two commands matter: make demo, make test. Both set up what they need. make test-fast needs Go alone.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.PHONY: build test test-all test-fast test-long test-real soak pictures demo demo-mining bench bench-compare lint style fmt fuzz setup clean

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)

LINT_VERSION := v2.12.2
LINT         := .tools/golangci-lint-$(LINT_VERSION)
VALE_VERSION := v3.22.0
VALE         := .tools/vale-$(VALE_VERSION)
SUM_VERSION  := v1.13.0
SUM          := .tools/gotestsum-$(SUM_VERSION)
FUZZTIME     := 10s

# One static program; it runs on any Linux, and inside any work container.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/assayd ./daemon/assayd

# The race detector looks at all code but SQLite (C made into Go), regexp, HCL, the shell's parser, and
# our own parsers: there it finds nothing and takes twice the time. What keeps a cache for all, as encoding/json does, has to be
# looked at: else its locks are not seen, and races are that are none.
UNRACED := modernc.org/... regexp/... github.com/hashicorp/hcl/v2/... github.com/zclconf/go-cty/... mvdan.cc/sh/v3/... github.com/assayd/assayd/runtime/judge/parser/... github.com/assayd/assayd/runtime/decoy/...
RACE := -race $(foreach path,$(UNRACED),'-gcflags=$(path)=-race=false -d=checkptr=0')

# Nor does it look at packages whose tests begin programs, or only read texts: a program with the
# detector takes ten times as long to begin. make test-long runs them with it, too.
PLAIN := ./config/... ./contrib/... ./daemon ./daemon/assayd ./daemon/cli ./daemon/gitsync ./daemon/web/webtest

# Everything: unit, race, command-line and container tests, on a machine with Go alone. It ends
# by itself, as failed, after 45 minutes of a quiet machine.
test:
	contrib/tests/within 45 $(MAKE) --no-print-directory test-all

# go vet is part of lint.
test-all: setup $(SUM)
	GOOS=darwin go vet ./...
	PACKAGES="$$(go list ./... | grep -vxF "$$(go list $(PLAIN))")" contrib/tests/run $(SUM) $(RACE) -timeout 75m -parallel 3
	PACKAGES='$(PLAIN)' GOTESTSUM_JSONFILE="$${GOTESTSUM_JSONFILE:+$$GOTESTSUM_JSONFILE.plain}" contrib/tests/run $(SUM) -timeout 75m -parallel 3
	go test -tags faults ./runtime/clock # what only a test build has
	$(MAKE) --no-print-directory lint

# What needs no containers, in three minutes; -short leaves the others out.
test-fast:
	go vet ./...
	go test -short ./...

# All that takes longer than make test may. A bound in time would make a busy machine fail, so
# each fuzz target tries as many inputs each time, and the same.
test-long: soak $(SUM)
	PACKAGES='$(PLAIN)' contrib/tests/run $(SUM) $(RACE) -timeout 4h -parallel 3
	$(MAKE) --no-print-directory fuzz FUZZTIME=1000x FUZZSEED=1

# Real pull requests; ASSAYD_REPOS is the folder of their clones (owner+name/repo), ASSAYD_DATA
# the one with instances.json and testlogs. Some need modules: Go's proxy and npm's registry.
ASSAYD_DATA ?= ../shared/data
test-real: setup
	@test -d "$(ASSAYD_REPOS)" || { echo 'test-real: set ASSAYD_REPOS to the folder of the clones (owner+name/repo)' >&2; exit 1; }
	@test -f "$(ASSAYD_DATA)/instances.json" || { echo 'test-real: there is no instances.json in $(ASSAYD_DATA): set ASSAYD_DATA' >&2; exit 1; }
	contrib/images/base python go node rust
	ASSAYD_REPOS='$(abspath $(ASSAYD_REPOS))' ASSAYD_DATA='$(abspath $(ASSAYD_DATA))' \
		go test -tags real -run '^TestReal' -count=1 -v -timeout 240m ./...

# The long suites; make test has a short slice of each.
soak: setup
	go test -tags soak -run '^TestSoak' -count=1 -v -timeout 4h ./...

# Pictures of the pages, for docs/pages.md and the README.
pictures: setup
	ASSAYD_PICTURES='$(CURDIR)/docs/pictures' go test -tags soak -run '^TestSoakPictures$$' -count=1 ./daemon/web/webtest

demo: build
	contrib/docker/up git
	contrib/images/base python
	contrib/demo

demo-mining: build
	contrib/docker/up git
	contrib/images/base python
	contrib/mine-offline/run

# Ratios of our times to those of the engine alone, into bench.json. ONLY names subjects, with
# commas between them; an unknown one lists them all.
ONLY ?=
bench: build setup
	contrib/bench/run -only '$(ONLY)'

# The program of revision BASE and that of the present tree, measured in turns.
BASE ?=
bench-compare: build setup
	contrib/bench/compare '$(BASE)' -only '$(ONLY)'

# The cache is this checkout's own: a common one brings findings of other checkouts, gone ones too.
lint: $(LINT) style
	GOLANGCI_LINT_CACHE=$(CURDIR)/.tools/lint-cache $(LINT) run ./...
	go mod tidy -diff

# How we write, in pages and package comments; the rules are in contrib/style.
PROSE := $(wildcard *.md docs/*.md config/README.md reconcile/README.md runtime/*/README.md contrib/*/README.md examples/*/README.md) \
	$(wildcard $(addsuffix doc.go,*/ */*/ */*/*/ */*/*/*/))
style: $(VALE)
	contrib/style/check_test $(VALE)
	$(VALE) --no-global --config contrib/style/vale.ini --output line $(PROSE)

fmt: $(LINT)
	$(LINT) fmt ./...

# The linter is a tool of its own and never in go.mod; building it takes a minute, once.
$(LINT):
	GOBIN=$(CURDIR)/.tools CGO_ENABLED=0 go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv .tools/golangci-lint $@

# Nor is the checker of prose, which needs a C compiler; building it takes a minute and a half, once.
# Later versions name a module that the proxy does not have.
$(VALE):
	GOBIN=$(CURDIR)/.tools CGO_ENABLED=1 go install github.com/vale-cli/vale/v3/cmd/vale@$(VALE_VERSION)
	mv .tools/vale $@

# Nor is what runs the tests; building it takes seconds.
$(SUM):
	GOBIN=$(CURDIR)/.tools CGO_ENABLED=0 go install gotest.tools/gotestsum@$(SUM_VERSION)
	mv .tools/gotestsum $@

# Each fuzz target for a short while. What is found interesting is not made smaller at length.
# With FUZZSEED the same inputs are tried each time, as make test-long wants it; without, others.
FUZZSEED ?=
fuzz:
	@grep -rHoE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . | while IFS=: read -r file match; do \
		name=$${match#func }; echo "$$(dirname "$$file") $$name"; \
		$(if $(FUZZSEED),GODEBUG=fuzzseed=$(FUZZSEED)) go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s \
			$(if $(FUZZSEED),-parallel 1) "$$(dirname "$$file")" || exit 1; \
	done

setup:
	contrib/setup
	contrib/images/base python

clean:
	rm -rf bin .tools bench.json bench-compare.json
