# First through the towns as they come; then from left to right, which is shorter.
set -e
cat >tour.py <<'PY'
import sys

towns = [line for line in sys.stdin if line.strip()]
print(*range(len(towns)), sep="\n")
PY
assay-submit
cat >tour.py <<'PY'
import sys

towns = [tuple(map(float, line.split())) for line in sys.stdin if line.strip()]
print(*sorted(range(len(towns)), key=lambda t: (towns[t][0] // 100, towns[t][1])), sep="\n")
PY
assay-submit
