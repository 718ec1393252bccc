# Takes things as they come, and then the best value for its weight first. SForge's name of
# the client works like assay-submit.
set -e
cat >>pack.py <<'PY'
order = range(len(things))
for n in order:
    if things[n][0] <= capacity:
        capacity -= things[n][0]
        print(n)
PY
sforge-submit
sed -i 's/^order = .*/order = sorted(range(len(things)), key=lambda n: things[n][0] \/ things[n][1])/' pack.py
sleep 1 # the cooldown
sforge-submit
