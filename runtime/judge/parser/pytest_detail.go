package parser

import (
	"regexp"
	"strings"

	"github.com/assayd/assayd/runtime/truncate"
)

// pytestDetails gathers what pytest tells at length of tests that failed: where, and what the
// last exception said. The short summary cuts that off at the width of a terminal.
type pytestDetails struct {
	form   pytestDetailForm
	on     bool // within the section of failures
	quiet  bool // what follows is what a test printed
	blocks []pytestBlock
}

// pytestBlock is about one failure.
type pytestBlock struct {
	name        string // as headlines have it; "" = it has none (--tb=line)
	first, last string // places, and what was raised there
	said        []string
	used        bool
}

const (
	maxDetails    = 5000 // failures
	maxDetail     = 500  // bytes of one
	maxDetailSaid = 3    // lines
)

type pytestDetailForm struct{ headline, place, frame, raised *regexp.Regexp }

func newPytestDetailForm() pytestDetailForm {
	return pytestDetailForm{
		headline: regexp.MustCompile(`^_+ (\S.*?) _+$`),
		place:    regexp.MustCompile(`^(\S+\.py):(\d+): ?(.*)$`),
		frame:    regexp.MustCompile(`^  File "(\S+\.py)", line (\d+), in `),
		raised:   regexp.MustCompile(`^[A-Za-z_][\w.]*(?:Error|Exception|Failed)(?::.*)?$`),
	}
}

// section says whether what follows is the section of failures.
func (d *pytestDetails) section(title string) { d.on, d.quiet = title == "FAILURES", false }

// line reads a line of the section.
func (d *pytestDetails) line(line string) {
	if !d.on {
		return
	}
	if m := match(d.form.headline, line, strings.HasPrefix(line, "_")); m != nil && strings.Trim(m[1], "_ ") != "" {
		d.begin(m[1])
		return
	}
	if strings.HasPrefix(line, "---") && strings.Contains(line, " Captured ") {
		d.quiet = true
	}
	if d.quiet {
		return
	}
	if m := match(d.form.place, line, strings.Contains(line, ".py:")); m != nil {
		named := len(d.blocks) > 0 && d.blocks[len(d.blocks)-1].name != ""
		if !named { // --tb=line: a line is all there is of a failure
			d.begin("")
		}
		d.at(m[1]+":"+m[2], m[3])
		return
	}
	if len(d.blocks) == 0 {
		return
	}
	b := &d.blocks[len(d.blocks)-1]
	if m := match(d.form.frame, line, strings.HasPrefix(line, "  File ")); m != nil {
		d.at(m[1]+":"+m[2], "")
		return
	}
	switch said, isError := strings.CutPrefix(line, "E  "); {
	case strings.HasPrefix(line, "During handling of the above exception"), strings.HasPrefix(line, "The above exception was"):
		b.said, b.first = nil, "" // the last one counts
	case isError && len(b.said) < maxDetailSaid:
		b.said = append(b.said, truncate.Text(strings.TrimSpace(said), maxDetail))
	case !isError && d.form.raised.MatchString(line) && len(b.said) < maxDetailSaid: // --tb=native
		b.said = append(b.said, truncate.Text(line, maxDetail))
	}
}

func (d *pytestDetails) begin(name string) {
	d.quiet = len(d.blocks) >= maxDetails
	if !d.quiet {
		d.blocks = append(d.blocks, pytestBlock{name: truncate.Text(name, maxName)})
	}
}

// at notes a place of the present failure.
func (d *pytestDetails) at(place, raised string) {
	if len(d.blocks) == 0 || d.quiet {
		return
	}
	b := &d.blocks[len(d.blocks)-1]
	if b.first == "" {
		b.first = place
	}
	b.last = truncate.Text(place+": "+raised, maxDetail)
}

// of takes what was told of a test: by its name, else what has no name and comes next.
func (d *pytestDetails) of(name string) string {
	_, tail, _ := strings.Cut(name, "::")
	tail = strings.ReplaceAll(tail, "::", ".")
	for _, want := range []string{tail, ""} {
		for i := range d.blocks {
			if b := &d.blocks[i]; !b.used && b.name == want {
				b.used = true
				return truncate.Text(b.text(), maxDetail)
			}
		}
	}
	return ""
}

// text begins with the place that the test itself had come to.
func (b *pytestBlock) text() string {
	lines := append([]string{b.first + ":"}, b.said...)
	return strings.Join(append(lines, b.last), "\n")
}
