package page

// Login is the page that asks who you are.
type Login struct {
	Frame
	To      string // where to go afterwards
	Problem string
	Tokens  bool // the settings have tokens
}

// NewLogin makes the page to log in.
func NewLogin(f Frame, to, problem string, tokens bool) *Login {
	f.Title, f.Topics = "log in", nil
	return &Login{f, to, problem, tokens}
}

// Problem is a page that says why there is no other.
type Problem struct {
	Frame
	Status int
	Text   string
}

// NewProblem makes the page for an error.
func NewProblem(f Frame, status int, title, text string) *Problem {
	f.Title, f.Topics = title, nil
	return &Problem{f, status, text}
}
