import json

ATTACK = "<script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\"><a href=\"javascript:document.title='attacked'\">x</a>\x1b[31m\x1b]0;attacked\x07\u202e"
print(ATTACK)
print(">>>>> Start Structured Result")
print(json.dumps({
    "valid": True, "score": 1, "pass_rate": 0.5, "summary": ATTACK,
    "details": [{"name": "test " + ATTACK, "status": "failed", "message": ATTACK}, {"name": "good", "status": "passed", "message": ATTACK}],
    "metrics": {"m" + ATTACK: 1},
}))
print(">>>>> End Structured Result")
