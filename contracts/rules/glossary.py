"""The terms of the domain, each once, in both languages of the interface.

Both words are shown side by side whatever language the reader has, so the Chinese word stands here beside the English
one; only what a term means is translated. A label of the interface that is one of these terms says the same word.
"""

import re
from dataclasses import dataclass

from contracts.rules.words import N_


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its words in English and Chinese, what it means, and the word stored for it if it is a state."""

    english: str
    chinese: str
    meaning: str
    stored: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Terms that belong together; `name` begins the anchor of each."""

    name: str
    title: str
    terms: tuple[Term, ...]

    def anchor(self, term: Term) -> str:
        """Return the id under which a page shows `term`: lower-case ASCII letters and hyphens."""
        return f"{self.name}-" + re.sub("[^a-z]+", "-", term.english.lower())


_TASK = (
    Term(
        "Resume-state contract",
        "续跑状态契约",
        N_(
            "What is agreed and recorded about one task, so that anyone can tell from stored facts alone whether it "
            "may go on, from where, and what must never be done again."
        ),
    ),
    Term("Task", "任务", N_("One piece of work with a stable id, which is never used a second time.")),
    Term(
        "Resume decision",
        "续跑判定",
        N_(
            "The answer to whether this task may be continued now, who may do so and from where. It follows from the "
            "stored facts alone: the same facts always give the same answer."
        ),
    ),
    Term(
        "Plan digest",
        "计划摘要",
        N_(
            "A checksum over the definition of a task; a second task of the same id with another plan is refused."
        ),
    ),
    Term(
        "Deadline", "截止时间", N_("After this time, by the clock of the database, nothing may be continued.")
    ),
    Term("Worker", "工作进程", N_("The program or agent that does the work and has to obey the contract.")),
    Term("Curator", "策展人", N_("A person who may decide on approvals.")),
    Term("Reviewer", "审阅人", N_("A person who fills contracts in and accepts objects.")),
)
_CONTRACT = (
    Term("Draft", "草稿", N_("The contract is being filled in; nobody works by it yet."), "draft"),
    Term("Paused", "已暂停", N_("Nobody works on the task; it can be taken up."), "paused"),
    Term(
        "Resuming",
        "续跑中",
        N_("A worker has taken the task up and has not committed a step yet."),
        "resuming",
    ),
    Term("Running", "运行中", N_("A worker owns the task and works."), "running"),
    Term(
        "Pause requested",
        "已请求暂停",
        N_("What is under way may end, nothing else begins. It is not paused until all of it has ended."),
        "pause_requested",
    ),
    Term(
        "Completed",
        "已完成",
        N_("Every object is confirmed or skipped, and no operation is open."),
        "completed",
    ),
    Term(
        "Cancelled", "已取消", N_("Somebody ended the task and said why; nothing of it goes on."), "cancelled"
    ),
)
_PLANE = (
    Term(
        "Conversation",
        "对话历史",
        N_("What the model may see in the next turn. It is context only, never a receipt for anything."),
    ),
    Term("Checkpoint", "执行检查点", N_("From which step and variables the framework can go on.")),
    Term("Progress", "业务进度", N_("Which objects are accepted, in which version, and which are left.")),
    Term("Effects", "外部效果", N_("Whether a write really happened, by the record of the target itself.")),
    Term("Approval", "人工批准", N_("Who allowed which exact action and version, and until when.")),
)
_RECORD = (
    Term(
        "Checkpoints",
        "检查点",
        N_("The committed points from which work can go on. What was not committed does not exist."),
    ),
    Term(
        "Durability",
        "持久性",
        N_("What a checkpoint of this framework really survives, and so what a crash may lose."),
    ),
    Term(
        "Journal",
        "步骤日志",
        N_("The steps of the work. A step that is done gives its stored result and never runs again."),
    ),
    Term("Source", "来源", N_("What the work starts from, in a version with a checksum.")),
    Term("Artefact", "产物", N_("What the work makes, in a version with a checksum. Each version stays.")),
    Term(
        "Limits",
        "累计限制",
        N_("Caps on time, turns, tries and cost over all attempts together. A restart never resets a total."),
    ),
    Term(
        "Events", "事件", N_("Every change and every refusal, in one chain that nobody can change unnoticed.")
    ),
)
_OWNER = (
    Term("Owner gate", "单一接手", N_("The rule that only one worker owns a task at any time.")),
    Term(
        "Attempt", "尝试", N_("One worker's ownership of the task, from when it takes it up to when it ends.")
    ),
    Term(
        "Generation",
        "世代号",
        N_(
            "A number that rises by one with every new owner and never falls; it tells a displaced owner apart."
        ),
    ),
    Term(
        "Lease", "租约", N_("The time for which a worker owns the task; it has to be renewed before it ends.")
    ),
    Term(
        "Take over",
        "接管",
        N_("To become the owner after a lease has lapsed, or by an operator with a reason."),
    ),
    Term(
        "Roll back",
        "回退",
        N_("To go on from an earlier checkpoint. Later ones stay, marked; keys and used decisions survive."),
    ),
)
_OBJECT = (
    Term("Objects", "逐对象进度", N_("The things that have to be done, accepted one by one.")),
    Term("Not started", "未开始", N_("Nobody has begun this object."), "pending"),
    Term("In progress", "进行中", N_("Somebody works on it; half a draft is not a draft."), "in_progress"),
    Term("Confirmed", "已确认", N_("It was accepted, and is never handed out again."), "confirmed"),
    Term(
        "Result unknown",
        "结果未知",
        N_("A write of this object may have left before its owner was lost."),
        "unknown",
    ),
    Term(
        "To be rechecked",
        "待重新核对",
        N_("Its source or artefact changed after it was accepted."),
        "recheck",
    ),
    Term("Skipped", "已跳过", N_("A person left it out and gave a reason."), "skipped"),
)
_OPERATION = (
    Term(
        "Tool contract",
        "工具调用契约",
        N_("What calling a tool does, how a repeat is recognised, and who decides when nobody can know."),
    ),
    Term("Operation", "外部操作", N_("One write into another system, recorded before it is sent.")),
    Term(
        "Parameter fingerprint",
        "参数指纹",
        N_("SHA-256 over the canonical form of the parameters; the same call always has the same one."),
    ),
    Term("Idempotency key", "幂等键", N_("A key by which a target recognises that a call is a repeat.")),
    Term(
        "Slot",
        "位置",
        N_("Object, step, round and tool together; it holds one operation, whatever its parameters."),
    ),
    Term("Round", "轮次", N_("A further try in the same place, opened by an act of its own.")),
    Term("Settle time", "落定时间", N_("How long after sending a write may still appear in the target.")),
    Term("Waiting to be sent", "待执行", N_("The intention is stored, and nothing has left."), "pending"),
    Term(
        "Being sent",
        "发送中",
        N_("It was stored as leaving before it left; no report has come yet."),
        "sending",
    ),
    Term(
        "Confirmed",
        "已确认",
        N_("The write happened; its owner reported it, or the target was asked."),
        "confirmed",
    ),
    Term("Clearly rejected", "明确拒绝", N_("The target said no; it did not happen."), "rejected"),
    Term(
        "Result unknown",
        "结果未知",
        N_("It may have happened. Nothing else is sent before the target has been asked."),
        "unknown",
    ),
    Term("Abandoned", "已放弃", N_("It was certainly never sent, and will not be."), "abandoned"),
    Term(
        "Reconcile", "核对", N_("To ask the target what became of an unknown write, and store the evidence.")
    ),
)
_APPROVAL = (
    Term(
        "Approval policy",
        "审批策略",
        N_(
            "How many must agree, whether an author may decide, how long an item waits and what happens then."
        ),
    ),
    Term(
        "Waiting for a decision", "待批准", N_("Nobody has decided yet, and there is time left."), "pending"
    ),
    Term(
        "Approved",
        "已批准",
        N_("A person allowed this one call in this version. It can be used once."),
        "approved",
    ),
    Term("Rejected", "已拒绝", N_("A person said no and gave a reason."), "rejected"),
    Term(
        "Stale",
        "已失效",
        N_("Something that was shown has changed since, so the item no longer covers it."),
        "stale",
    ),
    Term(
        "Expired, nobody decided",
        "已过期，无人决定",
        N_("The time ran out. That is never a person's no."),
        "expired",
    ),
    Term("Withdrawn", "已撤回", N_("Who asked took the request back."), "withdrawn"),
)
_WAY = (
    Term(
        "Replay",
        "重放",
        N_(
            "The work goes on from what is stored: a finished step gives its stored result, and only what is not "
            "finished is done."
        ),
    ),
    Term("Skip", "跳过", N_("It is done already, or left out by a person.")),
    Term("Compensate", "补偿", N_("A write that happened is taken back, as its tool contract says.")),
    Term("Hand to a person", "转人工", N_("Nobody can know; the named person decides."), "escalate"),
    Term(
        "Failure window",
        "故障窗口",
        N_(
            "A moment at which a crash or a change does the most harm. It is drilled, and blank until it was."
        ),
    ),
)

GROUPS: tuple[Group, ...] = (
    Group("task", N_("The task"), _TASK),
    Group("plane", N_("Five planes"), _PLANE),
    Group("contract", N_("States of a contract"), _CONTRACT),
    Group("record", N_("What is recorded"), _RECORD),
    Group("owner", N_("One owner at a time"), _OWNER),
    Group("object", N_("Objects and their states"), _OBJECT),
    Group("operation", N_("Writes into other systems"), _OPERATION),
    Group("approval", N_("A person's consent"), _APPROVAL),
    Group("way", N_("Ways back"), _WAY),
)
