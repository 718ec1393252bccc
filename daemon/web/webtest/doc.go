// Package webtest looks at the pages of a real daemon with a real browser.
//
// make test goes a person's way through the pages, with a mouse, with keys alone, and without scripts. Tests with the
// tag soak look at every page in four widths, light and dark, with axe-core, which is in testdata as it was published.
package webtest
