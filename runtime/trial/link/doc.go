// Package link is what the daemon serves to the container of one trial: two sockets.
//
// At one the agent's requests arrive, for the judge, for its models, for the network that its task
// allows, and for the time that is left. At the other the guest tells what happens, and hears what the
// daemon wants. A request of the guest that changes the trial goes to the Inbox. Its reader answers it
// when the change is stored.
//
// All that comes by the sockets is hostile: each trial has its own bound on connections and headers, and
// can only end or harm itself. The package changes no state of a trial and asks no engine.
//
// A Link can be closed and opened again at any time: clients and guests try again.
//
// Start reading at Open.
package link
