import subprocess

ATTACK = "<script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\">\x1b[2J\u202e"
print("I print " + ATTACK)
for n in range(2):
    with open("src/<img src=x onerror=document.title='attacked'>.txt", "w") as f:
        f.write(ATTACK + str(n) + "\n")
    subprocess.run(["assay-submit"], check=False)
