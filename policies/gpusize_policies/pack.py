"""The Pulumi policy pack: every rule under its own policy name, judged once for each resource.

Pulumi's SDK decodes every property again for each policy, which many rules cannot afford. So its
servicer is given an `Analyze` of ours that looks at the type first, decodes once and reports under
each rule's name. That servicer is a private class: where it is missing or looks different, the same
policies run the public way (docs/adr/0003).
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi
import pulumi_policy
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel
from pulumi_policy import policy as sdk

from gpusize.environments import Where
from gpusize.surroundings import stack_values
from gpusize.tokens import PACKAGE
from gpusize_catalog.problems import GpuSizeError
from gpusize_policies.arriving import (
    BY_OUTPUTS,
    CONCERNED,
    concerns,
    seen_proxy,
    seen_wire,
    tied_seen,
)
from gpusize_policies.commands.emit import note, write_whole
from gpusize_policies.encode import changed
from gpusize_policies.finding import Finding, Severity
from gpusize_policies.machines import Seen
from gpusize_policies.registry import RULES
from gpusize_policies.remedies import Change
from gpusize_policies.rule import Rule
from gpusize_policies.session import KINDS, Session
from gpusize_policies.settings import REMEDIATE
from gpusize_policies.setup import (
    CUSTOM_POLICY,
    FILE_KEY,
    SETTINGS_POLICY,
    WRITE_BASELINE,
    Setup,
    Stack,
    configure,
    find_folder,
    set_up,
    starts,
)

NAME = "gpusize"
STACK_TYPE = "pulumi:pulumi:Stack"

LEVELS: dict[Severity | None, EnforcementLevel] = {
    Severity.ERROR: EnforcementLevel.MANDATORY,
    Severity.WARN: EnforcementLevel.ADVISORY,
    Severity.ADVICE: EnforcementLevel.ADVISORY,
    None: EnforcementLevel.DISABLED,
}
SEVERITIES = {
    Severity.ERROR: pulumi_policy.Severity.HIGH,
    Severity.WARN: pulumi_policy.Severity.MEDIUM,
    Severity.ADVICE: pulumi_policy.Severity.LOW,
}
SERVICER = "_PolicyAnalyzerServicer"
"""The SDK's private class that answers the engine."""
VERSION = "_PolicyAnalyzerServicer__policy_pack_version"
"""Where it keeps the version of the pack, which the engine wants beside each change."""
REMEDIABLE = tuple(rule for rule in RULES if rule.remedy)
NEEDED = ("_get_enforcement_level", "_create_report_violation")
"""Methods of it that ours rests on."""


class Judge:
    """One run of the pack: its setup, its session, and what it told already."""

    def __init__(self, stack: Stack, setup: Setup) -> None:
        """Judge by this setup until a configuration comes."""
        self.stack = stack
        self.announced = setup
        self.configured: tuple[Sequence[str], Mapping[str, Mapping[str, Any]]] | None = None
        """Names of the policies, and what `--policy-pack-config` says of them."""
        self.inputs: dict[str, Any] = {}
        """Inputs of what concerns us, by URN, as they came."""
        self.tags: dict[str, str] = {}
        """Tags of the stack."""
        self.written = ""
        """Text of the baseline that was written."""
        self.is_over = False
        """Whether the end of a run was judged."""
        self.use(setup)

    def use(self, setup: Setup) -> None:
        """Judge by another setup, from a fresh session; the pack's own configuration wins."""
        self.told = setup
        setup = setup.at(Where(self.stack.name, self.tags))
        self.setup = configure(setup, *self.configured) if self.configured else setup
        self.session = Session(self.setup.judging)

    def tagged(self, tags: Mapping[str, str]) -> None:
        """Take in the tags of the stack, by which an environment may be chosen."""
        if dict(tags) != self.tags:
            self.tags = dict(tags)
            self.use(self.told)

    def configure(self, names: Sequence[str], config: Mapping[str, Mapping[str, Any]]) -> None:
        """Take in what `--policy-pack-config` says, levels aside."""
        file = config.get(SETTINGS_POLICY, {}).get(FILE_KEY)
        setup = self.announced
        if isinstance(file, str):
            made = set_up(self.stack, setup.run.folder, file)
            setup = made._replace(run=made.run._replace(baseline_to=setup.run.baseline_to))
        self.configured = (names, config)
        self.use(setup)

    def take(self, kind: str, urn: str, inputs: Any) -> None:
        """Keep the inputs of what concerns us.

        The first resource after the end of a run begins another: an update after its preview.
        """
        if self.is_over:
            self.is_over = False
            self.inputs = {}
            self.use(self.told)
        if kind in CONCERNED - BY_OUTPUTS:
            self.inputs[urn] = inputs

    def left_out(self, urns: Iterable[str]) -> bool:
        """Tell whether the end of a run lacks what it registered: `--target` makes only a part."""
        return not self.inputs.keys() <= set(urns)

    def level_of(self, name: str) -> EnforcementLevel | None:
        """Return the level of a rule by the settings in force now; None for other policies."""
        rules = (*RULES, *self.setup.run.settings.custom.rules)
        rule = next((one for one in rules if one.name == name), None)
        return None if rule is None else _level(self.setup, rule)

    def remedy(self, seen: Seen, rule: Rule) -> tuple[Change, ...]:
        """Say what a rule changes of a resource; where that goes wrong, nothing."""
        try:
            return self.session.remedy(seen, rule)
        except Exception:  # the finding is then told as any other, by Analyze
            return ()

    def resource(self, seen: Seen) -> Iterator[tuple[str, str]]:
        """Judge a resource: policy names with messages. Nothing that goes wrong escapes."""
        if seen.type == STACK_TYPE:
            problems = [*self.setup.problems, *self.session.problems]
            yield from ((SETTINGS_POLICY, str(problem)) for problem in problems)
            yield from self._guarded(self.session.about_settings)
        elif seen.type in KINDS:
            yield from self._guarded(lambda: self.session.judge(seen))

    def ties(self, kind: str, name: str, urn: str) -> bool:
        """Tell whether the file of declarations ties a resource to a workload."""
        try:
            return bool(kind in KINDS and self.session.declarations.tie(Seen(kind, name, urn, {})))
        except GpuSizeError:  # told with the stack
            return False

    def stack_findings(
        self, resources: Sequence[Seen], *, is_part: bool = False
    ) -> Iterator[tuple[str, str, str]]:
        """Judge what had to wait for the whole stack: URNs, policy names, messages."""
        self.is_over = True
        by_urn: dict[str, list[Finding]] = {}

        def finish() -> Sequence[Finding]:
            for urn, finding in self.session.finish(resources, is_part=is_part):
                by_urn.setdefault(urn, []).append(finding)
            return ()

        yield from (("", *failure) for failure in self._guarded(finish))
        for urn, findings in by_urn.items():
            yield from ((urn, *told) for told in _told(findings))
        yield from (("", *failure) for failure in self._guarded(self._write_baseline))

    def _write_baseline(self) -> Sequence[Finding]:
        """Write what was found into a baseline, where that was asked for."""
        path = self.setup.run.baseline_to
        if path is None or any(self.session.problems):
            return ()
        text, count = self.session.baseline()
        if text != self.written:
            write_whole(path, text)
            note(f"{count} finding{'' if count == 1 else 's'} in {path.name}")
            self.written = text
        return ()

    @staticmethod
    def _guarded(judge: Callable[[], Sequence[Finding]]) -> Iterator[tuple[str, str]]:
        try:
            yield from _told(judge())
        except GpuSizeError as error:
            yield SETTINGS_POLICY, str(error.problems[0])
        except Exception as error:
            # The text of an exception may hold a user's values; where it came from may not.
            frames = traceback.extract_tb(error.__traceback__)
            where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
            yield (
                SETTINGS_POLICY,
                f"gpusize could not judge this ({type(error).__name__} at {where}); "
                "report it with the declaration",
            )


def _told(findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Policy names with messages; an accepted finding is told by the rule on such ones alone."""
    return ((one.name, one.message) for one in findings if not one.is_accepted)


def _level(setup: Setup, rule: Rule) -> EnforcementLevel:
    """Return the level of a rule by the settings."""
    if setup.run.settings.levels.get(rule.code) == REMEDIATE:
        return EnforcementLevel.REMEDIATE
    return LEVELS[setup.level_of(rule)]


class RulePolicy(pulumi_policy.ResourceValidationPolicy, pulumi_policy.StackValidationPolicy):
    """One rule as a policy of resources and of the stack.

    Its `validate` is the public way. It asks the judge as often as the SDK does; equal questions
    are answered once.
    """

    def __init__(self, judge: Judge, name: str, description: str, **options: Any) -> None:
        """Report what the judge says under this name."""
        self.judge = judge
        # Both bases pass their arguments on by position, so one would call the other wrongly.
        pulumi_policy.Policy.__init__(self, name, description, **options)

    def has_validation(self) -> bool:
        """Tell the SDK that `validate` is ours."""
        return True

    def has_remediation(self) -> bool:
        """Tell the SDK that `validate` changes nothing: remedies need the wire format."""
        return False

    def validate(self, args: Any, report_violation: Any) -> None:
        """Report one rule's findings on a resource, or on what waited for the whole stack."""
        self.judge.tagged(args.stack_tags)
        if isinstance(args, pulumi_policy.StackValidationArgs):
            resources = [
                seen_proxy(one, self.judge.inputs.get(one.urn))
                for one in args.resources
                if one.resource_type in CONCERNED
            ]
            is_part = self.judge.left_out(one.urn for one in args.resources)
            for urn, name, message in self.judge.stack_findings(resources, is_part=is_part):
                if name == self.name:
                    report_violation(message, urn)
            return
        self.judge.take(args.resource_type, args.urn, args.props)
        if args.resource_type in KINDS or args.resource_type == STACK_TYPE:
            for name, message in self.judge.resource(seen_proxy(args)):
                if name == self.name:
                    report_violation(message, None)


def policies(judge: Judge) -> list[RulePolicy]:
    """Make a policy of every rule, and one for the settings themselves."""
    rules = (*RULES, *judge.setup.run.settings.custom.rules)
    own = (_rule_policy(judge, rule) for rule in rules)
    return [_settings_policy(judge), _carrier(judge), *own]


def _carrier(judge: Judge) -> RulePolicy:
    """Carries rules of the team that a file brings which the configuration named.

    Policies are announced before that is known. Each finding has the level of its rule; the public
    way takes no other file.
    """
    return RulePolicy(
        judge,
        CUSTOM_POLICY,
        "Rules of the team, from a settings file that `--policy-pack-config` names.",
        enforcement_level=EnforcementLevel.MANDATORY,
        severity=pulumi_policy.Severity.MEDIUM,
    )


def _settings_policy(judge: Judge) -> RulePolicy:
    text = "Path of the settings file, relative to the program."
    return RulePolicy(
        judge,
        SETTINGS_POLICY,
        "The settings and declarations that gpusize works with can be used.",
        enforcement_level=EnforcementLevel.MANDATORY,
        severity=pulumi_policy.Severity.HIGH,
        config_schema=pulumi_policy.PolicyConfigSchema(
            {FILE_KEY: {"type": "string", "description": text}}
        ),
    )


def _rule_policy(judge: Judge, rule: Rule) -> RulePolicy:
    return RulePolicy(
        judge,
        rule.name,
        rule.summary,
        enforcement_level=_level(judge.setup, rule),
        severity=SEVERITIES[rule.severity],
        display_name=f"{rule.code} {rule.name}",
        tags=[rule.code, rule.topic],
        remediation_steps=rule.section("Fix") or None,
        config_schema=_config_schema(rule),
    )


def _config_schema(rule: Rule) -> pulumi_policy.PolicyConfigSchema | None:
    """Describe the thresholds that a rule reads; no defaults, the settings file has those."""
    if not rule.parameters:
        return None
    from gpusize_policies.settings import schema

    described = schema()["properties"]
    thresholds = described["parameters"]["properties"]
    found = {name: thresholds.get(name) or described[name] for name in rule.parameters}
    return pulumi_policy.PolicyConfigSchema(
        {
            name: {key: value for key, value in one.items() if key != "default"}
            for name, one in found.items()
        }
    )


class Servicer:
    """The hot calls of the protocol, answered at once; the rest is the SDK's.

    Mixed into the SDK's servicer by `fast_servicer`; the names are those of the protocol.
    """

    judge: Judge
    policies: Mapping[str, RulePolicy]

    def Configure(self, request: Any, context: Any) -> Any:
        """Take in levels the SDK's way, and the rest for the pack as a whole."""
        from google.protobuf import json_format

        config = {
            name: json_format.MessageToDict(one.properties)
            for name, one in request.policyConfig.items()
        }
        self.judge.configure(tuple(self.policies), config)
        return super().Configure(request, context)  # type: ignore[misc]

    def ConfigureStack(self, request: Any, context: Any) -> Any:
        """Take in the tags of the stack."""
        self.judge.tagged(request.tags)
        return super().ConfigureStack(request, context)  # type: ignore[misc]

    def Analyze(self, request: Any, _context: Any) -> Any:
        """Judge one resource."""
        response = proto.AnalyzeResponse()
        self.judge.take(request.type, request.urn, request.properties)
        tied = self.judge.ties(request.type, request.name, request.urn)
        if request.type == STACK_TYPE or tied or concerns(request):
            seen = seen_wire(request, request.options.parent)
            for name, message in self.judge.resource(seen):
                self.say(response, name, message)
        return response

    def AnalyzeStack(self, request: Any, _context: Any) -> Any:
        """Judge what had to wait for the whole stack."""
        response = proto.AnalyzeResponse()
        knows = self.judge.session.accelerators.may_be
        resources = list(tied_seen(request.resources, self.judge.inputs, knows, self.judge.ties))
        is_part = self.judge.left_out(one.urn for one in request.resources)
        for urn, name, message in self.judge.stack_findings(resources, is_part=is_part):
            self.say(response, name, message, urn)
        return response

    def Remediate(self, request: Any, _context: Any) -> Any:
        """Mend a resource by the rules at level `remediate`; without one nothing is decoded."""
        response = proto.RemediateResponse()
        rules = [rule for rule in REMEDIABLE if self._mends(rule)]
        if not rules or request.type not in KINDS:
            return response
        properties = request.properties
        for rule in rules:
            seen = seen_wire(request, request.options.parent, properties)
            changes = self.judge.remedy(seen, rule)
            mended = changed(properties, changes)
            if mended is not None:
                properties = mended
                self._tell_remedy(response, rule, changes, mended)
                note(f"{seen.name}: {rule.code} {rule.name} mended: {_said(changes)}")
        return response

    def _mends(self, rule: Rule) -> bool:
        return self._level_of(self.policies[rule.name]) is EnforcementLevel.REMEDIATE

    def _tell_remedy(
        self, response: Any, rule: Rule, changes: Sequence[Change], properties: Any
    ) -> None:
        response.remediations.append(
            proto.Remediation(
                policyName=rule.name,
                policyPackName=NAME,
                policyPackVersion=getattr(self, VERSION, "0.0.1"),
                description=f"{rule.summary} Mended: {_said(changes)}.",
                properties=properties,
            )
        )

    def _level_of(self, policy: RulePolicy, name: str = "") -> EnforcementLevel:
        """The level of a policy; `name` is the rule that it reports for, where that is another."""
        level = self._get_enforcement_level(policy)  # type: ignore[attr-defined]
        if level is policy.enforcement_level:
            # Nobody set another one, so a settings file that the configuration named counts.
            level = self.judge.level_of(name or policy.name) or level
        found: EnforcementLevel = level
        return found

    def say(self, response: Any, name: str, message: str, urn: str | None = None) -> None:
        """Report under a policy's name and level, unless it is disabled."""
        policy = self.policies.get(name) or self.policies[CUSTOM_POLICY]
        level = self._level_of(policy, name)
        if level is EnforcementLevel.DISABLED:
            return
        if level is EnforcementLevel.REMEDIATE:
            level = EnforcementLevel.MANDATORY
        report = self._create_report_violation(  # type: ignore[attr-defined]
            response, policy.name, policy.description, level, policy.severity
        )
        report(message, urn)


def _said(changes: Sequence[Change]) -> str:
    return "; ".join(one.words for one in changes)


def fast_servicer(base: Any, judge: Judge, policies: Sequence[RulePolicy]) -> Any:
    """Derive a servicer that decodes and judges once; None when the SDK's is not as expected."""
    if not isinstance(base, type) or not all(hasattr(base, method) for method in NEEDED):
        return None
    fields = {"judge": judge, "policies": {policy.name: policy for policy in policies}}
    return type("GpusizeServicer", (Servicer, base), fields)


def serve() -> None:
    """Serve the engine that started this process, until it ends."""
    stack = _stack()
    folder = find_folder(stack.project, starts(os.environ))
    judge = Judge(stack, set_up(stack, folder, "", os.environ.get(WRITE_BASELINE, "")))
    own = policies(judge)
    servicer = fast_servicer(getattr(sdk, SERVICER, None), judge, own)
    if servicer is not None:
        setattr(sdk, SERVICER, servicer)
    pulumi_policy.PolicyPack(
        NAME,
        policies=list(own),
        enforcement_level=EnforcementLevel.ADVISORY,
    )


def _stack() -> Stack:
    """Read what the language host told of the stack; a state file has none."""
    if "PULUMI_PROJECT" not in os.environ:
        return Stack(region=_environment_region())
    region = pulumi.Config("aws").get("region") or _environment_region()
    whole = pulumi.runtime.config.get_config_env()
    values = stack_values(pulumi.Config(PACKAGE).get, whole)
    return Stack(pulumi.get_project(), values, region, pulumi.get_stack())


def _environment_region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
