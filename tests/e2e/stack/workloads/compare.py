# SPDX-License-Identifier: MIT
# compare.py LANGUAGE NOTED < output: at each point of a workload, the frames that the program has noted are those that were recorded: the same
# functions, files and lines, in order, and no others. Stacks before the helper is known have no frames of the language.
import difflib, re, sys
language, noted = sys.argv[1:]
forms = {
    "python": r"\[ (.+ \(.+\)) \]", "ruby": r"\[ (.*\(.+\)) \]", "perl": r"\[ (.+) \]", "php": r"\[ (.+ \(.+\)) \]",
    "node": r"(.+ at \S.* line \d+)", "java": r"([^\s`]+\.[^\s`]+\((?:[^()`]+)\))\*?", "erlang": r"([^`\[ ]*:.*/\d+(?: \(.*:\d+\))?)",
}
form = re.compile(forms[language])
own = {"node": "workload_point at ", "java": "Workload.workload_point(", "erlang": "workload:note/2"}.get(language)
notes = {}
for line in open(noted, errors="replace"):
    m = re.fullmatch(r"POINT:(\d+) (.*)\n", line)
    if m and int(m[1]):
        notes[int(m[1])] = m[2].split("|")

def frames_of(lines):
    """The frames of the language, from the one that calls workload_point() on."""
    found = [form.fullmatch(l)[1] for l in lines if form.fullmatch(l)]
    if language == "node":
        found = [l.removeprefix("(anon) as ") for l in found] # V8's own text does not say which names it has made up
    if language == "java":
        found = [re.sub(r"\+(0x[0-9a-f]+)\.", r"/\1.", f) for f in found if not f.startswith("0x")]
    at = [i for i, l in enumerate(found) if (l.startswith(own) if own else re.search(r"workload_point\)$", l))]
    return found[at[0] + 1:] if at else None

stacks = {}
text = sys.stdin.read()
for block in re.split(r"^ID POINT:", text, flags=re.M)[1:]:
    number, *lines = block.split("\n")
    if int(number) in notes:
        stacks[int(number)] = frames_of([l.strip() for l in lines])
known = [n for n in stacks if stacks[n]]
first = min(known, default=0)
total = there = depth = 0
wrong = []
def without_repetitions(frames):
    """Erlang leaves out repetitions of a frame."""
    return [f for i, f in enumerate(frames) if not i or f != frames[i - 1]] if language == "erlang" else frames
for n, want in sorted(notes.items()):
    if n not in stacks or (n < first and not stacks[n]):
        continue
    want, got = map(without_repetitions, (want, stacks[n] or []))
    total += len(want)
    depth = max(depth, len(want))
    if got == want:
        there += len(want)
        continue
    same = sum(b.size for b in difflib.SequenceMatcher(None, want, got, autojunk=False).get_matching_blocks())
    there += same
    # a frame that cannot be known may be missing; one that is there and is not the program's is wrong
    if same < len(got):
        wrong.append((n, [d for d in difflib.ndiff(want, got) if d[0] in "-+"][:8]))
whole = len(known) >= 0.9 * len(notes) > 0
if wrong or not whole or there < 0.99 * total:
    print(f"bad: {len(notes)} points, {len(stacks)} stacks, {len(known)} with frames, {there} of {total} frames are there, {len(wrong)} stacks have wrong ones")
    for n, d in wrong[:4]:
        print(f"  point {n}:", *d, sep="\n    ")
else:
    print("good")
print(f"{len(known)} stacks, {there} of {total} frames, {depth} deep", file=sys.stderr)
