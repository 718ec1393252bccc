// Package mining turns merged pull requests into tasks.
//
// A Miner works on one mining spec: it reads what a source tells, and takes each pull request
// through the stages, each of which may end it with a reason. What the outside answers, GitHub
// or a model, is kept in the Book before it is used, and so is a proof: a miner that was killed
// takes each open pull request from its beginning again, and pays twice only for requests in
// flight. A task that is accepted has been proved: its tests were run in fresh containers,
// before and after. The tests are upstream's; a model writes them where there are none, and others
// beside them where they need no part of the fix.
//
// The package never decides which specs there are, never keeps a record by itself (the Book
// does), and judges nothing: it has that done as trials have. Start reading at Miner.Run,
// then at maker.make, the life of one pull request. Rate asks a model about a task that exists.
package mining
