// Package gateway is the model gateway: it stands between agents, which have a placeholder
// for a key, and the providers of models.
//
// For each try of a trial there is a Session, an HTTP handler that the agent reaches through
// its relay. It puts in the real key, waits for the provider's limits fairly between trials,
// retries what fails before the first byte, passes the answer on as it comes, counts its
// tokens, and has each exchange written into the trial's transcript. What an exchange cost is
// in the ledger before the agent has its last byte.
//
// The gateway never translates between protocols, never keeps a key anywhere but in memory,
// and does not know what a trial is worth. Start reading at Gateway.Open and exchange.serve.
package gateway
