package admission

// Load is what is held of the machine now.
type Load struct {
	Limits     Limits
	WorkShare  Need // that work containers may have together
	Work       Need // that they hold
	Containers int  // of work
	Judge      Need // that judgings hold
	Judgings   int
	Game       Need
	Games      int
	DiskLeft   int64 // bytes; negative = that is not known
}

// Load tells what is held of the machine now. Any goroutine may ask.
func (a *Controller) Load() Load {
	left := a.left()
	a.mu.Lock()
	defer a.mu.Unlock()
	return Load{a.limits, a.limits.workShare(), a.work, a.count, a.judge, a.judges, a.game, a.games, left}
}
