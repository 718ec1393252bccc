package judge

// Load is how much there is to judge now.
type Load struct {
	Queued int // rounds and games in line
	Trials int // that have some there
}

// Load tells how much there is to judge now. Any goroutine may ask.
func (j *Judge) Load() Load { return j.queue.load() }

func (q *queue) load() (l Load) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range q.lines {
		l.Queued += len(line)
		if len(line) > 0 {
			l.Trials++
		}
	}
	return l
}
