"""What a rule would change of a resource: its questions are gathered, and answered by one rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.asking import Asking, Question
from gpusize_policies.finding import Finding
from gpusize_policies.judge import evaluate
from gpusize_policies.reading.values import Props
from gpusize_policies.remedies import Resource

if TYPE_CHECKING:
    from gpusize_policies.case import Case
    from gpusize_policies.declarations import Declarations
    from gpusize_policies.remedies import Change
    from gpusize_policies.rule import Rule
    from gpusize_policies.waiving import Waiving


class Gathering(Asking):
    """Keeps the questions on a resource, and judges none."""

    def __init__(self, declarations: Declarations) -> None:
        """Begin with nothing."""
        super().__init__(declarations)
        self.questions: list[Question] = []

    def ask(self, question: Question) -> tuple[Finding, ...]:
        """Keep a question."""
        self.questions.append(question)
        return ()

    def changes(self, rule: Rule, waiving: Waiving) -> tuple[Change, ...]:
        """Return what a rule changes; what is accepted stays as it is."""
        found: list[Change] = []
        for question in self.questions:
            found += [one for one in self._of(question, rule, waiving) if one not in found]
        return tuple(found)

    def _of(self, question: Question, rule: Rule, waiving: Waiving) -> Iterator[Change]:
        seen, only = question.seen, question.spoken
        if rule.remedy is None or (only is not None and rule.name not in only):
            return
        case = self.case_of(question, question.name, question.subject)
        if self._is_open(case, question, rule, waiving):
            yield from rule.remedy(case, Resource(seen.type, Props(seen.props)))

    def _is_open(self, case: Case, question: Question, rule: Rule, waiving: Waiving) -> bool:
        """Tell whether a rule finds something that nothing accepts."""
        tag, workload = self.waiver_tag(question.seen), question.declared.workload
        said = evaluate(case, self.declarations.context.settings, (rule,))
        found = (one for one in said if one.code == rule.code)
        return any(not waiving.accepts(one, workload, tag) for one in found)
