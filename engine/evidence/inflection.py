"""English words with their endings: who writes "takes longer" means "took longer", too."""

from __future__ import annotations

from collections.abc import Iterator

_IRREGULAR = """
become becomes became becoming
begin begins began begun beginning
blow blows blew blown blowing
break breaks broke broken breaking
bring brings brought bringing
build builds built building
choose chooses chose chosen choosing
come comes came coming
cut cuts cutting
die dies died dying
draw draws drew drawn drawing
eat eats ate eaten eating
fall falls fell fallen falling
find finds found finding
forget forgets forgot forgotten forgetting
freeze freezes froze frozen freezing
get gets got gotten getting
give gives gave given giving
go goes went gone going
grow grows grew grown growing
hang hangs hung hanged hanging
hit hits hitting
hold holds held holding
keep keeps kept keeping
know knows knew known knowing
lead leads led leading
leave leaves leaving
lie lies lay lain lying
lose loses lost losing
make makes made making
overwrite overwrites overwrote overwritten overwriting
put puts putting
quit quits quitting
rise rises rose risen rising
run runs ran running
say says said saying
see sees saw seen seeing
send sends sent sending
shoot shoots shot shooting
show shows showed shown showing
shrink shrinks shrank shrunk shrinking
sink sinks sank sunk sinking
sit sits sat sitting
speak speaks spoke spoken speaking
spend spends spent spending
stand stands stood standing
stick sticks stuck sticking
swing swings swung swinging
take takes took taken taking
tell tells told telling
throw throws threw thrown throwing
win wins won winning
write writes wrote written writing
"""
_REGULAR = """
answer appear apply climb collapse complain converge copy crash crawl create creep decrease differ diverge download
drift drop emit end exceed exit expect explode fail fill finish fit fluctuate flush follow generate halt happen help
ignore improve increase jump kill lag last learn load look loop match miss move need oscillate output parrot pass pause
plateau predict print produce raise reach receive recover reload remain repeat report reset respond restart restore
resume return save score seem skip slow spike stall start stay stop swap time try turn use vary wait work worsen
"""


def _with_endings(base: str) -> list[str]:
    """A regular verb: waits, waited, waiting; stops, stopped, stopping; tries, tried, trying; uses, used, using."""
    if base.endswith("e"):
        return [base, base + "s", base + "d", base[:-1] + "ing"]
    if base.endswith("y") and base[-2] not in "aeiou":
        return [base, base[:-1] + "ies", base[:-1] + "ied", base + "ing"]
    stem = base
    if base[-1] not in "aeiouwxy" and base[-2] in "aeiou" and base[-3] not in "aeiou" and len(base) <= 4:
        stem += base[-1]
    third = base + "es" if base.endswith(("s", "x", "ch", "sh")) else base + "s"
    return [base, third, stem + "ed", stem + "ing"]


def _verbs() -> dict[str, list[str]]:
    """By each form of a verb the forms that may stand for it; a form of two verbs keeps the first.

    "Repeats" does not stand for "repeated", which may be passive: whoever repeats the prompt is another one.
    """
    tables = [line.split() for line in _IRREGULAR.splitlines() if line]
    tables += [_with_endings(base) for base in _REGULAR.split()]
    forms: dict[str, list[str]] = {}
    for table in tables:
        passive = table[-2] if len(table) > 3 else ""
        for form in table:
            said = table if form in (table[0], passive) else [one for one in table if one != passive]
            forms.setdefault(form, [form, *(one for one in said if one != form)])
    return forms


VERBS = _verbs()


def inflections(word: str) -> list[str]:
    """A word of a phrase with its other forms: of a common verb what it may stand for, else the regular endings."""
    if word in VERBS:
        return VERBS[word]
    if not (word.isascii() and word.isalpha() and len(word) >= 4):
        return [word]
    if word.endswith("e"):
        return [word, word + "s", word + "d", word[:-1] + "ing"]
    return [word, word + "s", word + "es", word + "ed", word + "ing"]


def variants(words: list[str]) -> Iterator[list[str]]:
    """A form of several words, and the same with the first common verb in it in its other forms."""
    yield words
    if len(words) < 2 or words[0] in ("not", "no", "never"):  # "not seen" is passive, "not see" is not
        return
    for place, word in enumerate(words):
        if word in VERBS:
            for form in VERBS[word][1:]:
                yield [*words[:place], form, *words[place + 1 :]]
            return
