"""Grammar words of English and Chinese: what makes a clause a denial, a guess, a question, a trial or a comparison.

They are language, not knowledge of training, and so stand here and not in the knowledge base. Concepts of the
lexicon that name an outcome (NORMAL, CURES, ...) lend their words to the cue of the same meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.evidence.lexicon import Layer, Lexicon
from engine.model.kb import Concept

NOT = "not"  # denies what follows in its clause
WITHOUT = "without"  # denies the noun after it
INSTEAD = "instead"  # denies the noun after it, and no verdict further on
NOT_NEXT = "not-next"  # denies only what follows at once (不, 没, zero)
NEUTRAL = "neutral"  # hides a negator that denies nothing ("not only", 不同)
CANNOT = "cannot"  # denies what is good, and no trouble ("cannot load")
BUT = "but"  # a contrast: nothing reaches across
BUT_VERB = "but-verb"  # the same, standing between subject and verb (却)
ASIDE = "aside"  # opens a clause that contrasts with what stands around it
IF = "if"  # what follows is no event
WHEN = "when"  # what follows is none either, where only a reaction to it is laid down
REACTION = "reaction"  # what somebody or something will do about it
EACH_TIME = "each-time"  # it did happen
UNREAL = "unreal"  # what follows at once is wished
PREVENT = "prevent"  # what follows is to be avoided
AND = "and"  # a denial does not reach across it
WH = "wh"  # what follows is taken for granted ("no idea why")
WHETHER = "whether"  # what follows is open
GUESS = "guess"  # the reporter's theory or fear
FIND_OUT = "find-out"  # asks for a way to know
ASKS_FIRST = "asks-first"  # at the start of a clause that ends with a question mark
ASKS = "asks"  # anywhere in the clause
ANYONE = "anyone"  # "has anyone seen ..." asserts what was seen
NORMAL = "normal"  # after a noun: it is fine
IS = "is"
RULED_OUT = "ruled-out"
PAST = "past"  # what was fine is no news of now
USED_TO = "used-to"  # what follows is over
LONG_AGO = "long-ago"  # what was wrong then, and was repaired, is over
RESOLVED = "resolved"  # what stands before it is over
ELSEWHERE = "elsewhere"  # the clause is not about a training run
START = "start"  # the value is that of the beginning
THEN = "then"  # what stands before it in the sentence is over
ACTION = "action"  # something was changed
TRIED = "tried"  # the same, said outright: its outcome may stand in a later clause
ALSO = "also"
FIXED = "fixed"
NO_EFFECT = "no-effect"
STILL = "still"
BAD = "bad"
ONLY = "only"
THAN = "than"
SAME = "same"

NEGATIVE_WORDS = ("not", "no", "没", "不", "未")
"""Beginnings of words that deny."""

NEGATORS = (
    *("not ", "no ", "never ", "does not", "do not", "did not", "doesn't", "don't", "didn't", "cannot", "can't"),
    *("won't", "isn't", "aren't", "没", "不", "未", "无"),
)
"""First words of forms that deny what the rest of them says."""

_WORDS: dict[str, str] = {
    NOT: """not, no, never, none of, neither, nor, hardly, isn't, aren't, wasn't, weren't, doesn't,
        don't, didn't, won't, hasn't, haven't, hadn't, couldn't, shouldn't, wouldn't, nothing, no longer, free of,
        lack of, absence of, no sign of, fails to show, not yet, nowhere, 没有, 并没有, 从未, 从没, 从来没有, 未曾,
        未出现, 未发现, 未见, 没有变成, 没变成, 没有变为, 没见, 没出现, 没发现, 没有出现, 没有发现, 并非, 不是,
        并不是, 并不, 不会, 不再, 毫无, 不存在, 不出现, 看不到, 没看到, 不涉及,
        cannot see, can't see, cannot find, can't find, cannot observe, can't observe, cannot detect, can't detect,
        cannot be, can't be, couldn't find, couldn't see, could not find, could not see, cannot reproduce,
        can't reproduce, couldn't reproduce, could not reproduce, no single, not one, not a single, 没发生,
        没有发生过, 没有哪, 没有一, 没有任何, 一次都没有, 没见过, 没遇到, 没有遇到, 没有复现, 查不到""",
    CANNOT: """cannot, can't, can not, couldn't, could not, unable to, not able to, not even, doesn't even, don't even,
        didn't even, never even, fails to, failed to, 无法, 没法, 不能, 没办法""",
    WITHOUT: """without, without any, 不带, 不用""",
    INSTEAD: """instead of, rather than, 而不是, 而非""",
    NOT_NEXT: """zero, 0, 不, 没, 未, 无, 非, 零, 0 个, 0 次""",
    NEUTRAL: """若干, 要么, 那么, 这么, 多么,
        than without, not only, not just, not merely, no doubt, no matter, not to mention, no wonder,
        nothing but, whether or not, for a while, after a while, in no time, no later than, not until, not least,
        none the less,
        no idea, not sure, not clear, not know, don't know, do not know, don't understand, do not understand,
        cannot explain, can't explain, cannot figure, can't figure, not obvious, not certain, and so on, 不仅, 不但,
        不光, 不只, 不止, 不同, 不过, 无论, 不管, 不论, 未来, 非常, 不断, 不久, 不少, 不一样, 不一致, 不稳定,
        不知, 不知道, 不清楚, 不明白, 不确定, 不得不, 没想到, 不对, 不好, 不行, 不够, 不足, 不到, 差不多,
        不小心, 不变, 而且, 因而, 从而, 对不对, 要不要, 能不能, 好不好, 无关紧要, 无非, 非要, 未必, 不料,
        没多久, 没几步""",
    BUT: """but, however, yet, except, 但, 但是, 不过, 而, 然而, 可是, 只是, 相反""",
    BUT_VERB: """却, 反倒, 反而""",
    ASIDE: """while, whereas, although, though, even though, 虽然, 尽管, 虽说, 虽""",
    IF: """if, in case, in the event, in case of, provided that, unless, abort when, assuming, suppose, supposing,
        如果, 要是, 假如,
        假设, 倘若, 万一, 一旦, 假使, 若, 若是, 除非, 倘, 假若""",
    WHEN: """when, once, as soon as, the moment, 当, 时, 的时候, 之时, 只要""",
    EACH_TIME: """every time, each time, whenever, always, 每次, 每当, 总是, 老是, 每回""",
    REACTION: """we stop, we abort, we kill, we will, stop the job, stop the run,
        stop training, stop the training, abort the run, abort the job, kills the run, kills the job,
        rolls back, requeues, retries, automatically, 自动重试, 自动回滚, 自动重启, 自动停止, 自动跳过, 自动恢复,
        自动回退, 会自动, 会回滚, 请停止, 请立即, 立即停止, 跳过这一步, 跳过这一批, 重新排队""",
    UNREAL: """retry on, retries on, restart on, restarts on, abort on, aborts on, stop on, stops on, should,
        should be, should have, should not, shouldn't, should never, supposed to, ought to, would,
        would be, would have, would not, 应该, 应当, 本应, 按理, 理应, 本该""",
    PREVENT: """to avoid, to prevent, to guard against, for fear of, risk of, danger of, prevents, want to prevent,
        protects against, protect against, 以防, 防止, 以免, 为了避免, 用来避免, 为避免, 免得""",
    AND: """and, so, because, since, when, then, after, as soon as, if, where, which, who, due to, 时,
        也, 就, 所以, 因为, 并且, 而且, 因此, 于是, 后, 时候""",
    WH: """why, how, what, where, when exactly, 为什么, 为何, 为啥, 怎么, 怎么回事, 咋, 什么原因, 如何""",
    WHETHER: """if, whether""",
    GUESS: """maybe, perhaps, possibly, presumably, i suspect, we suspect, suspect, suspected, suspicion, could it be,
        may be, might be, might have, could be, could have, i think, we think, i guess, my guess, our guess,
        i believe, we believe, theory, hypothesis, looks as if, looks as though, as if, i assume, we assume, i wonder,
        to blame, can it be, supposedly, likely cause, i am afraid, i'm afraid, we are afraid, afraid that, worried,
        worry, i fear, we fear, concerned that, make sure, ensure, ensures, ensuring, 担心, 害怕, 恐怕, 确保, 保证,
        应该是, 应该就是, 怀疑, 猜测, 猜, 可能是, 也许, 或许, 大概是, 会不会, 是不是因为, 推测, 估计是, 以为, 莫非,
        难道, 疑似, 想必, 有可能""",
    ASKS_FIRST: """is, are, was, were, do, does, did, can, could, should, would, will, has, have, might, or is,
        or did, or does, or are, or was, any chance, so is, and is, what if""",
    ASKS: """吗, 么, 是不是, 是否, 会不会, 还是说, 能否, 可否, 有没有可能, 对不对""",
    ANYONE: """anyone, anybody, any idea, any ideas, someone, somebody, please help, can someone, can anyone,
        could someone, 有没有人, 有人, 谁""",
    NORMAL: """fine, ok, okay, healthy, normal, normally, as expected, no problem, no issue, no issues, all right,
        works, works fine, looks good, looks right, runs through, runs fine, it runs, loop runs, job runs,
        the loop runs, correct, in order, without problems, unremarkable, reasonable, gives a number, trains well,
        converges, as it should, does it right, 合理, 没有这个问题, 没这个问题, 能收敛, 正常, 没问题, 没有问题,
        没毛病, 良好, 健康, 无异常, 没有异常, 没事, 可以跑, 能跑, 跑得通, 都对, 正常工作""",
    IS: """is, are, was, were, looks, look, looked, seems, seem, seemed, remains, remain, remained, stays, stay,
        stayed, been, being, be, runs, run, ran, both, all, also, still, perfectly, completely, very, 是, 都, 很, 也,
        均, 全, 一切, 完全, 就, 看起来, 仍, 仍然, 还""",
    RULED_OUT: """一次都没有, 一次也没有, 一个都没有, 一个也没有, 都没有, ruled out,
        rule out, ruling out, excluded, exclude, can be excluded, is not it, isn't it,
        not the cause, not the reason, not the problem, not the issue, not the culprit, not to blame, not responsible,
        innocent, not present, not seen, not observed, never seen, never observed, does not occur, doesn't occur,
        do not occur, did not occur, never occurs, never occurred, never happens, does not happen, doesn't happen,
        not visible, no longer appears, no longer occurs, no longer happens, no longer there, 不再出现, 没有出现,
        未出现, 没出现, 不存在, 从未出现, 没有发生, 未发生, unrelated to, nothing to do with, has nothing to do,
        already excluded, 排除, 排除了, 已排除, 可以排除, 不是原因, 不是问题, 不是它, 没有关系, 没关系, 无关,
        与此无关""",
    PAST: """until, till, before, used to, at first, initially, originally, previously, earlier, formerly, prior to,
        up to step, in the beginning, so far, for the first, 之前, 以前, 原来, 原本, 本来, 起初, 刚开始, 一开始, 直到,
        开始时, 训练前, 微调前, 前几, 先前, 此前, 早先""",
    START: """starts, started, start, begins, began, starting, initial, initially, first, at step 0, at step 1,
        at iteration 0, at iteration 1, 第一步, 第1步, 第0步, 第 1 步, 第 0 步, 一开始, 刚开始,
        起始, 初始, 首步, 开局, 第一个""",
    USED_TO: """used to, 以前, 从前, 曾经""",
    LONG_AGO: """last year, last month, months ago, weeks ago, a year ago, a month ago, a week ago, in january,
        in february, in march, in april, in may, in june, in july, in august, in september, in october, in november,
        in december, back then, the old cluster, 去年, 上个月, 几个月前, 几周前, 前年, 上周, 月份""",
    RESOLVED: """was fixed, were fixed, has been fixed, have been fixed, is fixed, is fixed now, got fixed, was solved,
        has been solved, have been solved, is solved, was resolved, has been resolved, have been resolved,
        is resolved, was repaired, has been repaired, was replaced, were replaced, has been replaced,
        have been replaced, was removed, has been removed, is history, 已经解决, 已经解决了, 已解决, 已经修好, 修好了,
        已修复, 已经修复, 早就好了, 早就修了, 已经换掉, 已经换了, 已更换, 已经更换, 已经删掉, 已经没有了""",
    ELSEWHERE: """alert on, alerts on, alerting on, page on, pages on, runbook, playbook, has an option, has a flag,
        there is an option, there is a flag, is configured to, 提供了选项, 有个选项, 有一个选项, 运维手册,
        alert fires when, alert fires if, alerts when, alerts if, alert is raised when,
        fires when, the paper describes, papers describe, my editor, 会触发报警, 会报警, 会告警, 会触发告警,
        论文里提到, 论文里提到过, 论文中提到, 文献里提到, 我的编辑器, my laptop,
        my browser, in the browser, slack bot, our slack, jira, the wiki, my phone, the website,
        我的笔记本, 笔记本电脑, 浏览器, 网页打开, 手机, slack 机器人, slack机器人""",
    THEN: """then, suddenly, all of a sudden, afterwards, later, now, 然后, 后来, 突然, 现在, 接着""",
    TRIED: """tried, try, trying, varied, varying, even with, even after, even at, even in, even if, 即使, 哪怕, 就算,
        试, 试过, 试了, 尝试, 尝试过""",
    ALSO: """also, too, both, either, as well, even, 也""",
    ACTION: """set, setting, raise, raising, raised, lower, lowering, lowered, reduce, reducing, reduced, increase,
        increasing, change, changing, changed, switch, switching, switched, disable, disabling, disabled, enable,
        enabling, enabled, turn off, turning off, turned off, turn on, turning on, turned on, replace, replacing,
        replaced, remove, removing, removed, adding, going back, downgrade, downgrading, upgrade, upgrading,
        reverting, rollback, rolling back, halving, doubling, swap, swapping, reshuffling, different, 换, 换成, 换了,
        改, 改成, 改为, 改了, 设, 设置, 设成, 设为, 调, 调大, 调小, 调低, 调高, 调整, 降低, 提高, 增大, 减小, 关闭,
        关掉, 打开, 开启, 去掉, 升级, 降级, 回退, 禁用, 启用, 重置, 加大""",
    FIXED: """fix, fixes, fixed, fixed it, cure, cures, cured, solve, solves, solved, help, helps, helped, resolve,
        resolves, resolved, goes away, went away, gone, disappears, disappeared, vanishes, vanished, does the trick,
        makes it work, back to normal, runs again, works again, 解决, 解决了, 就好了, 好了, 恢复正常, 消失, 消失了,
        就正常, 可以跑, 就可以, 就能跑, 有效, 管用""",
    NO_EFFECT: """no effect, without effect, without success, no success, to no avail, no avail, no difference,
        no change, no improvement, did not help, didn't help, does not help, doesn't help, not help, no help,
        did not either, nor did, nor does, does not matter, doesn't matter, makes it worse, made it worse,
        changes nothing, changed nothing, same result, already tried, already varied, were varied, was varied,
        only moves, only move, only delays, only delay, fail even sooner, fails sooner, fails even sooner,
        fail sooner, in vain, did not change, didn't change, did not fix, doesn't fix, didn't fix, does not fix,
        did not solve, didn't solve, no luck, 没用, 无效, 没有用, 没效果, 没有效果, 不起作用, 没有改善, 没改善,
        没有帮助, 没有变化, 没变化, 不管用, 没有影响, 也不行, 还是不行, 都不行, 一样不行, 无济于事, 没能解决,
        没有解决, 没解决, 依然如此""",
    STILL: """still, again the same, 还是, 仍然, 仍, 依旧, 依然, 也一样, 照样""",
    BAD: """fails, fail, failed, failing, breaks, broken, worse, wrong, bad, hangs, hang, crashes, crash, crashed,
        diverges, diverge, explodes, nan, oom, slow, slower, much slower, differs, different, stuck, not work,
        doesn't work, does not work, degraded, error, errors, 失败, 不行, 出错, 报错, 卡住, 卡死, 崩溃, 崩, 变差,
        更差, 不对, 有问题, 变慢, 很慢, 更慢, 慢, 发散, 胡言乱语""",
    ONLY: """only with, only in, only on, only when, only if, only under, only for, 只有, 只在, 仅在, 仅有""",
    THAN: """worse than, slower than, lower than, higher than, larger than, much slower than, better than, unlike,
        compared to, compared with, than with, than on, than in, than the, gets worse than, less than, 比""",
    SAME: """same, the same, identical, unchanged, bit-identical, not changed, did not change, didn't change,
        no change, equal, 没变, 没有变, 没有变化, 不变, 没有改, 没有动, 没动, 一样, 相同, 完全一致, 一模一样, 没改,
        一致""",
}  # fmt: skip

_LENT = MappingProxyType(
    {
        "NORMAL": NORMAL,
        "FAILS": BAD,
        "WORSE": BAD,
        "HANG": BAD,
        "CRASH": BAD,
        "BAD": BAD,
        "CURES": FIXED,
        "NO_EFFECT": NO_EFFECT,
        "SAME": SAME,
        "INITIAL": START,
        "AT_START": START,
    }
)

_TOO_BROAD = frozenset(["unchanged", "right", "clean"])
"""Words of NORMAL that praise nothing: "right at step 0", "unchanged between"."""

_COMPOUNDS = """fine tun*, fine grained, zero 1, zero 2, zero 3, zero stage, zero redundancy, zero offload,
    zero infinity, zero optimizer, deepspeed zero, zero shot, fixed at, a fixed, one fixed, fixed to, in order to,
    no load, good enough, at least, right hand, clip rn50, clip vit*, clip model*, clip embedding*, clip score*,
    clip loss, clip text, clip image, clip encoder*, clip training, clip skip, clip style, clip tutorial, openai clip,
    chinese clip, open clip, train clip, training clip, trained clip, video clip*, audio clip*, example notebook*,
    example script*, example config*, example code, for example, recompute kv, kv recompute, 刚好, 正好"""
"""Compounds whose parts mean something else on their own: the "fine" of fine-tuning, ZeRO-3, the model CLIP."""


_ASKS_A_WAY = (
    ("how do i", "how do we", "how can i", "how can we", "how could i", "how could we", "how to", "ways to", "way to"),
    ("check", "find out", "tell", "know", "verify", "detect", "confirm", "see", "measure", "test", "rule out"),
)
_ASKS_A_WAY_ZH = (
    ("怎么", "怎样", "如何", "怎么才能"),
    ("判断", "确认", "检查", "知道", "检测", "看出", "验证", "排查", "确定"),
)


def add_cues(lexicon: Lexicon, concepts: Mapping[str, Concept]) -> None:
    """Put the grammar words, and those lent by the concepts, into the lexicon."""
    for cue, forms in _WORDS.items():
        for form in forms.split(","):
            lexicon.add(Layer.CUE, cue, form.strip())
    for openers, verbs in (_ASKS_A_WAY, _ASKS_A_WAY_ZH):
        for opener in openers:
            for verb in verbs:
                lexicon.add(Layer.CUE, FIND_OUT, f"{opener} {verb}")
    for form in _COMPOUNDS.split(","):
        lexicon.add(Layer.BLOCK, "", form)
    for name, cue in _LENT.items():
        if name in concepts:
            for form in {*concepts[name].en, *concepts[name].zh} - _TOO_BROAD:
                lexicon.add(Layer.CUE, cue, form)
