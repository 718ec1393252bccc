package parser

// pytestVParser is the parser pytest with a score: the last TOTAL_SCORE that the output
// tells, as graders print it that lend themselves pytest's form.
func pytestVParser() Parser {
	p := pytestParser()
	p.Parse = func(in Input) Result {
		r := parsePytest(in)
		r.Score = totalScore(in.Output)
		return r
	}
	return p
}
