// Package control is what users change while runs go on, beside the files: who does it, by which way, and what
// is recorded of it. Its Desk sets and lifts holds, its Orders stop and cancel trials. Whatever it does is stored together with a record of type
// control, in one transaction.
//
// It never starts or stops a trial: it has the loop look again, which asks Desk what is held. Start reading at Desk.
package control
