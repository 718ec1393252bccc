package fault

// Point is a step at which a daemon can end, named for what has just been done.
type Point string

// Points are all of them, in the order in which a trial comes by them. The crash suite
// goes through the list, so that a new one is tested by being here.
var Points = []Point{}
