"""Scorers: a final answer and an item's gold value in, a `Scored` out. One file per kind, options typed and strict.

Use `exact` for codes and identifiers, `normalised` for short free text, `contains` where wording around the answer
does not matter, `numeric` for quantities, `multiple_choice` for labels, `json_fields` for extraction into fields,
`regex` for shapes, `callable` for everything else that a program can tell, `rubric` and `pairwise` where only a judge
can, `all_of` and `weighted` to make one of several. A wrong answer scores 0.0 with a reason; a scorer that cannot judge
raises.
"""

from skillopt.envs.scorers.base import Gold, Scorer
from skillopt.envs.scorers.choose import ScorerSpec, build_scorer
from skillopt.envs.scorers.extract import ANSWER_FORMATS, AnswerFormat, extract_answer

__all__ = ["ANSWER_FORMATS", "AnswerFormat", "Gold", "Scorer", "ScorerSpec", "build_scorer", "extract_answer"]
