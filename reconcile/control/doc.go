// Package control is what users change while runs go on, beside the files: the user, the way, and the
// record of it. Its Desk sets and lifts holds, its Orders stop and cancel trials. Whatever it does is stored together with a record of type
// control, in one transaction.
//
// It never starts or stops a trial: it has the loop look again, which asks Desk for the holds. Start reading at Desk.
package control
