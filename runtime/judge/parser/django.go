package parser

// djangoParser reads what Django's test runner writes with -v 2: the text of unittest among
// lines about databases. manage.py is not protected, for whole projects are submitted.
//
// A settings file can name another runner, so nobody is sure that added tests would run:
// only a command that is python -m unittest gets a tripwire.
func djangoParser() Parser {
	return Parser{
		Name:     "django",
		Protect:  append(pythonStartup(), "runtests.py"),
		Parse:    parseUnittest,
		Tripwire: unittestTripwire,
	}
}
