package request

import (
	"fmt"
	"strings"

	"github.com/assayd/assayd/config"
)

// Suggest names the one of those that are known which was probably meant, the same without its kind or a near miss, as the
// end of a sentence; "" = none.
func Suggest(name string, known []string) string {
	best := config.Nearest(name, known)
	for _, k := range known {
		if strings.HasSuffix(k, "."+name) {
			best = k
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}
