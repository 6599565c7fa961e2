"""What detectors looked at, and why something could not be judged, in both languages; the only place of these texts.

Topics (what) come first, reasons (why) after them. A reason names what to log or to wait for. ``filled`` puts numbers
into a reason; the same placeholders stand in both languages.
"""

from __future__ import annotations

from engine.model.base import Text

NONFINITE_LOSS = Text(en="non-finite values of the training loss", zh="训练损失中的非有限值")
NONFINITE_EVAL = Text(en="non-finite values of the evaluation loss", zh="评估损失中的非有限值")
NONFINITE_NORM = Text(en="non-finite gradient norm", zh="非有限的梯度范数")
SPIKES = Text(en="loss spikes", zh="损失尖峰")
TREND = Text(en="trend of the loss", zh="损失的走势")
OSCILLATION = Text(en="oscillation of the loss", zh="损失的振荡")
PLATEAU = Text(en="plateau", zh="损失停滞")
OVERFITTING = Text(en="overfitting", zh="过拟合")
GAP = Text(en="gap between training and evaluation loss", zh="训练与评估损失的差距")
TOO_GOOD = Text(en="loss too good to be true", zh="损失好得不真实")
QUALITY = Text(en="quality metrics of the evaluations", zh="评估的质量指标")
NORM = Text(en="gradient norm", zh="梯度范数")
EXPLODING = Text(en="exploding gradient norm", zh="梯度范数爆炸")
CLIPPING = Text(en="share of clipped steps", zh="被裁剪的步比例")
LOSS_SCALE = Text(en="loss scale", zh="损失缩放")
SKIPPED = Text(en="skipped steps", zh="被跳过的步")
RATE = Text(en="learning rate", zh="学习率")
FROZEN_RATE = Text(en="frozen learning rate", zh="学习率是否冻结")
WARMUP = Text(en="end of the warm-up", zh="预热的结束位置")
THROUGHPUT = Text(en="throughput", zh="吞吐")
PAUSES = Text(en="regular pauses", zh="规律性停顿")
UTILISATION = Text(en="GPU utilisation", zh="GPU 利用率")
DIPS = Text(en="regular dips of the GPU utilisation", zh="GPU 利用率的规律性下跌")
LOADER = Text(en="wait for the data loader", zh="等待数据加载的时间")
EVALUATION_TIME = Text(en="share of the time spent in evaluation", zh="评估占用的时间比例")
MEMORY = Text(en="memory creep", zh="内存缓慢上涨")
MEMORY_LENGTH = Text(en="memory against sequence length", zh="显存与序列长度的关系")
STAIRS = Text(en="stairs at epochs", zh="epoch 边界的台阶")
RESUME_LOSS = Text(en="loss at the resume", zh="恢复处的损失")
SILENCE = Text(en="time since the last record", zh="距最后一条记录的时间")
FIRST_RANK = Text(en="first rank with a non-finite value", zh="最先出现非有限值的 rank")
RANKS = Text(en="slowest rank", zh="最慢的 rank")
PREFERENCE = Text(en="rewards and log-probabilities of the preference pairs", zh="偏好对的奖励与对数概率")
REWARD_START = Text(en="implicit rewards at the start", zh="起始处的隐式奖励")
POLICY = Text(en="reinforcement learning: reward, KL, entropy, answers", zh="强化学习：奖励、KL、熵与回答")
SIMILARITY = Text(en="similarity scale and spread of the embeddings", zh="相似度尺度与向量分散度")

FEW_RECORDS = Text(
    en="{count:.0f} records, {least:.0f} are needed",
    zh="只有 {count:.0f} 条记录，至少需要 {least:.0f} 条",
)
FEW_LOSSES = Text(
    en="fewer than 4 finite records of the training loss",
    zh="训练损失的有限记录少于 4 条",
)
FEW_EVALUATIONS = Text(
    en="fewer than {least:.0f} finite evaluations: evaluate more often to see where it turns",
    zh="有限的评估少于 {least:.0f} 次：更频繁地评估才能看出拐点",
)
POLICY_LOSS = Text(
    en="a policy-gradient loss is near zero by design and has no level: read reward and KL instead",
    zh="策略梯度损失本来就接近零、没有水平可言，应看奖励与 KL",
)
NOT_POSITIVE = Text(
    en="the loss has values of zero or below, a ratio to its level says nothing",
    zh="损失含零或负值，与其水平之比没有意义",
)
LATE_EXCERPT = Text(
    en="the series begins at step {step:g}: a late excerpt is flat in any run",
    zh="序列从第 {step:g} 步开始：训练后期的片段总是平的",
)
TOO_NOISY = Text(
    en="the loss is too noisy to tell a flat stretch from a slow fall",
    zh="损失噪声太大，分不清是停滞还是缓慢下降",
)
TRAIN_ROSE = Text(
    en="the training loss rose together with the evaluation loss: that is no overfitting",
    zh="训练损失与评估损失一同上升，这不是过拟合",
)
NO_EPOCH = Text(
    en="no epoch is logged: log it to tell the first pass over the data from later ones",
    zh="没有记录 epoch：记录它才能区分第一遍数据与之后各遍",
)
NO_NORM = Text(
    en="no gradient norm is logged: log it to tell whether the gradient or the loss moved first",
    zh="没有记录梯度范数：记录它才能知道先动的是梯度还是损失",
)
ISOLATED_NORMS = Text(
    en="{count:.0f} single records: steps that loss scaling skips look like this",
    zh="只有 {count:.0f} 条孤立记录：损失缩放跳过的步就是这样",
)
STATIC_SCALE = Text(
    en="it is 1 in every record: bf16 or fp32, no dynamic scaling to judge",
    zh="每条记录都是 1：bf16 或 fp32，没有动态缩放可判断",
)
NO_RATE = Text(
    en="no learning rate is logged: log it to place the trouble before, at or after the end of the warm-up",
    zh="没有记录学习率：记录它才能知道异常在预热结束之前、当时还是之后",
)
CONSTANT_RATE = Text(
    en="it is constant, which a constant schedule is too",
    zh="学习率恒定，而恒定调度也是如此",
)
WARMUP_UNSEEN = Text(
    en="it is not in the series: give the configuration or the log from the first step on",
    zh="不在序列之内：请提供配置，或从第一步起的日志",
)
NO_SPEED = Text(
    en="no series of step time or throughput with 4 or more records: log the step time",
    zh="没有 4 条以上的步时或吞吐序列：请记录步时",
)
NO_LOADER_TIME = Text(
    en="the time spent waiting for data is not logged: log it to tell a slow loader from slow computation",
    zh="没有记录等待数据的时间：记录它才能区分加载慢与计算慢",
)
NO_RUN_TIME = Text(
    en="neither step time nor run time is logged beside the evaluations",
    zh="除评估之外没有记录步时或总时长",
)
SAME_LENGTHS = Text(
    en="fewer than 5 common steps, or lengths that hardly differ",
    zh="共同的步少于 5 个，或长度几乎没有差别",
)
FEW_IN_EPOCH = Text(
    en="fewer than two records of the loss in an epoch: log more often",
    zh="每个 epoch 的损失记录少于两条：请更频繁地记录",
)
FEW_EPOCHS = Text(
    en="fewer than 2 epoch boundaries with 3 records on both sides",
    zh="两侧各有 3 条记录的 epoch 边界少于 2 个",
)
FEW_AROUND_RESUME = Text(
    en="fewer than 3 records before or after it",
    zh="恢复点之前或之后的记录少于 3 条",
)
NO_CLOCK = Text(
    en="the records carry no time of day: log time stamps to tell a hang from a long step",
    zh="记录不带时间：记录时间戳才能区分挂起与长步",
)
FEW_RANKS = Text(
    en="series of {count:.0f} ranks, 3 are needed to call one of them slow",
    zh="只有 {count:.0f} 个 rank 的序列，至少 3 个才能说哪个慢",
)
EARLY_RUN = Text(
    en="the run has only begun: chance level is where every run starts",
    zh="训练刚开始：随机水平正是起点",
)
LATE_START = Text(
    en="the first record stands at step {step:g}: log from the first step on to see whether policy and reference agree",
    zh="首条记录在第 {step:g} 步：从第一步起记录才能看出策略与参考是否一致",
)


def filled(text: Text, **values: float) -> Text:
    """The text with numbers put into its places."""
    return Text(en=text.en.format(**values), zh=text.zh.format(**values))
