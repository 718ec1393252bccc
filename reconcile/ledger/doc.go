// Package ledger keeps in the store what the runtime must not forget: the submissions of trials (round.Ledger), what
// agents spend on models (gateway.Ledger), and decisions about pull requests (mining.Book). It also shows the store to the writer of the result files (results.Source).
//
// It never decides anything, and never judges or asks a model.
package ledger
