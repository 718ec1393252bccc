package parser

import "fmt"

// numbered gathers tests of runners that let names repeat: the first of a name has it,
// further ones are "name #2", "name #3". So they must come in an order that is the same in
// every run.
type numbered struct {
	tests tally
	runs  map[string]int // tests by the name that the runner gave them, bounded
}

func (n *numbered) add(name string, status Status, message string) {
	n.put(Test{Name: name, Status: status, Message: message})
}

// put is add with all that is known of a test.
func (n *numbered) put(test Test) {
	name := test.Name
	if n.runs == nil {
		n.runs = map[string]int{}
	}
	if _, known := n.runs[name]; known || len(n.runs) < maxTests {
		n.runs[name]++
	}
	if run := n.runs[name]; run > 1 {
		test.Name, test.Repeats = fmt.Sprintf("%s #%d", name, run), cleanName(name)
	}
	n.tests.put(test)
}

// census counts results by the word that a runner's summary has for them. It differs from
// counting a tally in that a name given twice counts twice.
type census map[string]int

// disagreement says where a summary claims other numbers than were seen; words that the
// summary leaves out it claims to be none.
func (seen census) disagreement(claims census, words []string, wrong *problems) {
	for _, word := range words {
		if claims[word] != seen[word] {
			wrong.addf("the closing summary claims %d %s, the lines of the tests show %d", claims[word], word, seen[word])
		}
	}
}

// within names what lies in a describe block. outer holds the blocks around by depth, each
// with its own path: bounded, however deep they are.
func within(outer []string, title string) string {
	if len(outer) == 0 {
		return title
	}
	return outer[len(outer)-1] + " > " + title
}
