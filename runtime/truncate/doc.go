// Package truncate bounds texts in bytes, never within a character: of agents, models, runners, and servers,
// before they stand in a record or a message. It never changes a text that is short enough, except Valid.
package truncate
