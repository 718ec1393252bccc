import os
import sys

import pytest

# The directory of this file was put on the import path only to load it.
_here = os.path.dirname(os.path.abspath(__file__))
while _here in sys.path:
    sys.path.remove(_here)


def _must_pass():
    assert True


def _must_fail():
    raise AssertionError


def _items(session):
    """The two tests: plain functions without any fixture, automatic ones included."""
    near = session.items[-1].nodeid.split("::")[0] + "::" if getattr(session, "items", None) else "::"
    for mark, function in (("@PASS@", _must_pass), ("@FAIL@", _must_fail)):
        name = "test_%s_%d" % (mark, os.getpid())
        item = pytest.Function.from_parent(session, name=name, callobj=function)
        item.fixturenames = []
        item._nodeid = near + name
        yield item


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtestloop(session):
    config = session.config
    if config.option.collectonly or hasattr(config, "workerinput"):
        yield
        return
    collected = session.testscollected
    session.testscollected += 2
    yield
    failed, stop, setup = session.testsfailed, session.shouldfail, session._setupstate
    session._setupstate = type(setup)()  # after -x the last test is still set up
    for item in _items(session):
        config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    session.testscollected = collected
    session.testsfailed, session.shouldfail, session._setupstate = failed, stop, setup
