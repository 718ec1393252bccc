package page

import "github.com/assayd/assayd/reconcile/query"

// Activity is who asked for what.
type Activity struct {
	Frame
	Items       []query.ActivityInfo
	Next, First string
}

// NewActivity makes a page of the list.
func NewActivity(f Frame, items []query.ActivityInfo, next, first string) *Activity {
	f.Title, f.Nav, f.Topics = "activity", "activity", []string{"specs"}
	return &Activity{f, items, next, first}
}
