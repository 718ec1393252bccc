// Package page makes the HTML of the web pages: a file a page, each with what the page shows and the template for it.
//
// Nothing here asks the daemon: the package web hands in answers of package query. What agents, tests, archives, and
// models wrote is shown as plain text: templates escape it, and Render removes what moves a cursor and shows what would
// turn the order of letters.
package page
