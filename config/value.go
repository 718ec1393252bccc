package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"time"

	"github.com/agext/levenshtein"
	"github.com/robfig/cron/v3"
)

var (
	specName      = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	importedName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	envName       = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	platformName  = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$`)
	repoName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
	durationTerm  = regexp.MustCompile(`^(\d+(?:\.\d+)?)(ms|s|m|h|d)`)
	sizeForm      = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([A-Za-z]+)$`)
	allowedTarget = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:(\d{1,5})$`)
)

// longest bounds durations: nothing that assayd times lasts longer than ten years.
const longest = 3650 * 24 * time.Hour

// parseDuration reads "90s", "1h30m" or "2d".
func parseDuration(s string) (time.Duration, error) {
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	total := 0.0
	for rest := s; rest != "" || s == ""; {
		term := durationTerm.FindStringSubmatch(rest)
		if term == nil {
			return 0, fmt.Errorf(`%q is no duration: write a number and a unit, as in "90s", "5m", "12h" or "2d"`, s)
		}
		n, _ := strconv.ParseFloat(term[1], 64)
		total += n * float64(units[term[2]])
		rest = rest[len(term[0]):]
	}
	if total > float64(longest) {
		return 0, fmt.Errorf("%q is longer than ten years", s)
	}
	return time.Duration(math.Round(total)), nil
}

// parseSize reads "8GiB" and "512m": k, m, g, t and KiB to TiB count by 1024, kB to TB by 1000.
func parseSize(s string) (int64, error) {
	bad := fmt.Errorf(`%q is no size: write a number and a unit, as in "512m" or "8GiB"`, s)
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		return 0, bad
	}
	unit := strings.ToLower(m[2])
	factor := 1.0
	if unit != "b" {
		power := strings.IndexByte("kmgt", unit[0]) + 1
		base := map[string]float64{"": 1024, "ib": 1024, "b": 1000}[unit[1:]]
		if power == 0 || base == 0 {
			return 0, bad
		}
		factor = math.Pow(base, float64(power))
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	if n *= factor; n > 1<<60 {
		return 0, fmt.Errorf("%q is more than any machine has", s)
	}
	return int64(n), nil
}

// checkCron accepts five fields that come round at all.
func checkCron(s string) error {
	if len(strings.Fields(s)) != 5 || strings.Contains(s, "=") {
		return fmt.Errorf(`%q is no schedule: write five fields (minute hour day month weekday, UTC), as in "0 2 * * *"`, s)
	}
	schedule, err := cron.ParseStandard(s)
	if err != nil {
		return fmt.Errorf("%q is no schedule: %w", s, err)
	}
	if schedule.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return fmt.Errorf("%q never comes", s)
	}
	return nil
}

// checkTarget accepts host:port, where the host may begin with "*.".
func checkTarget(s string) error {
	m := allowedTarget.FindStringSubmatch(s)
	if m != nil {
		if port, _ := strconv.Atoi(m[3]); port >= 1 && port <= 65535 {
			return nil
		}
	}
	return fmt.Errorf(`%q is no target: write host:port, as in "pypi.org:443" or "*.example.org:443"`, s)
}

// commandFields are what a command may be told.
var commandFields = []string{"PromptFile", "Prompt", "Workdir", "Model", "Effort", "TimeLeft"}

// checkTemplate accepts text with {{.Field}} for the fields of commandFields and nothing
// else of the template language.
func checkTemplate(s string) error {
	trees, err := parse.Parse("command", s, "", "")
	if err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
	}
	root := trees["command"].Root
	if len(trees) > 1 {
		return fmt.Errorf("only {{.Field}} can be used here")
	}
	for _, node := range root.Nodes {
		if _, plain := node.(*parse.TextNode); plain {
			continue
		}
		name, ok := fieldOf(node)
		if !ok {
			return fmt.Errorf("%s cannot be used here: only {{.Field}} can", node)
		}
		if !slices.Contains(commandFields, name) {
			return fmt.Errorf("there is no field %q%s", name, suggest(name, commandFields))
		}
	}
	return nil
}

// fieldOf returns the name in a plain {{.Name}}.
func fieldOf(node parse.Node) (string, bool) {
	action, ok := node.(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 || len(action.Pipe.Cmds) != 1 || len(action.Pipe.Cmds[0].Args) != 1 {
		return "", false
	}
	field, ok := action.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
	if !ok || len(field.Ident) != 1 {
		return "", false
	}
	return field.Ident[0], true
}

// suggest returns `. Did you mean "x"?` for a near miss, else a full stop.
func suggest(given string, known []string) string {
	if best := Nearest(given, known); best != "" {
		return fmt.Sprintf(". Did you mean %q?", best)
	}
	return "."
}

// Nearest returns the first of the names that a given one comes closest to, "" where none
// is near.
func Nearest(given string, known []string) string {
	best, distance := "", max(2, len(given)/3)+1
	for _, name := range known {
		if d := levenshtein.Distance(given, name, nil); d < distance && d < len(name) {
			best, distance = name, d
		}
	}
	return best
}
