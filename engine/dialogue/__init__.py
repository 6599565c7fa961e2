"""A dialogue without any model: it asks, understands what comes back, and says what follows. Pure functions only.

``understand`` reads a message into a :class:`Turn`, whoever keeps the case makes answers and evidence of it and
diagnoses anew, and ``reply`` puts the change, the next question or the end into words.
"""

from engine.dialogue.model import Command, Ending, Move, Option, Question, Reply, Turn
from engine.dialogue.questions import question, question_of
from engine.dialogue.replying import reply
from engine.dialogue.understanding import understand
from engine.dialogue.wishes import cause_meant

__all__ = [
    "Command", "Ending", "Move", "Option", "Question", "Reply", "Turn", "cause_meant", "question", "question_of",
    "reply", "understand",
]  # fmt: skip
