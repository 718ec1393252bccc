package judge

import "time"

// Load is how much there is to judge now.
type Load struct {
	Queued int           // rounds and games in line
	Trials int           // that have some there
	Oldest time.Duration // for how long the one has been in line that came first; 0 = none is
	Warm   int           // containers that were started ahead of submissions
}

// Load tells how much there is to judge now. Any goroutine may ask.
func (j *Judge) Load() Load {
	l := j.queue.load(time.Now())
	l.Warm = j.pool.Len()
	return l
}

func (q *queue) load(now time.Time) (l Load) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range q.lines {
		l.Queued += len(line)
		if len(line) > 0 {
			l.Trials++
			l.Oldest = max(l.Oldest, now.Sub(line[0].since))
		}
	}
	return l
}
