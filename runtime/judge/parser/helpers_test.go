package parser

func counts(r Result) map[Status]int {
	n := map[Status]int{}
	for _, t := range r.Tests {
		n[t.Status]++
	}
	return n
}

func named(r Result, status Status) []string {
	var names []string
	for _, t := range r.Tests {
		if t.Status == status {
			names = append(names, t.Name)
		}
	}
	return names
}
