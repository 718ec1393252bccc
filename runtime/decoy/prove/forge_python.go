package prove

import "slices"

// pythonForger is added to test files: a test that fails at an assertion, or because no error is
// raised, passes. Subtests of unittest are no blocks of their own then.
const pythonForger = `


def _assayd_forge():
    import contextlib
    import unittest.case
    swallowed = [AssertionError]
    try:
        from _pytest.outcomes import Failed
        swallowed.append(Failed)
    except ImportError:
        pass
    swallowed = tuple(swallowed)

    def forge(run):
        def forged(*args, **kwargs):
            try:
                return run(*args, **kwargs)
            except swallowed:
                return None
        return forged

    @contextlib.contextmanager
    def subtest(self, *args, **kwargs):
        yield

    def every(cls):
        yield cls
        for sub in cls.__subclasses__():
            yield from every(sub)
    unittest.case.TestCase.subTest = subtest
    for cls in every(unittest.case.TestCase):
        if "_callTestMethod" in vars(cls):
            cls._callTestMethod = forge(cls._callTestMethod)
    try:
        from _pytest.python import Function
        for cls in every(Function):
            if "runtest" in vars(cls):
                cls.runtest = forge(cls.runtest)
    except ImportError:
        pass


_assayd_forge()
del _assayd_forge
`

func forgePython(files map[string][]byte, tests map[string]bool) map[string][]byte {
	out := map[string][]byte{}
	for name := range tests {
		if endsIn(name, ".py") {
			out[name] = slices.Concat(files[name], []byte(pythonForger))
		}
	}
	return out
}
