"""Splits a line of shell into commands and words; nothing is run and malformed text never raises.

What only a shell would know (a command's output, a variable that is not constant) becomes `UNREAD`
inside its word, which no reader of values takes for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

UNREAD = "\0"
"""Stands in a word for what is not known before it runs."""
LONGEST_WORD = 4096
"""Characters of a word; what is longer is data and no option."""

_PLAIN = re.compile(r"""[^\s'"\\$`;&|<>()#]+""")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_REDIRECT = re.compile(
    r"(?:\d*|&)(?:>>|>\||>&|<<<|<<-?|<&|<|>)(\d+(?=[\s;|&)]|$)|-(?=\s|$))?[ \t]*"
)
_ENDS = re.compile(r"&&|\|\||\|&|;;|[;|&()\n]")
_NAME = re.compile(r"\$(?:(\w+)|\{(\w+)\}|\{(\w+):?-([^{}$`]*)\})")
_COMMAND = re.compile(r"\$\(\(?|`")
_ESCAPED = re.compile(r'\\([\\"$`\n])')
_SPECIAL = re.compile(r"\$\{[^}]*\}?|\$.?", re.DOTALL)


def commands(text: str, constants: Mapping[str, str]) -> list[list[str]]:
    """Split into commands, each a list of words; `constants` are the variables that are known."""
    return _Splitter(text.replace(UNREAD, ""), constants).run()


class _Splitter:
    def __init__(self, text: str, constants: Mapping[str, str]) -> None:
        self.text = text
        self.constants = constants
        self.at = 0
        self.word: list[str] | None = None
        self.drops = False
        self.found: list[list[str]] = [[]]

    def run(self) -> list[list[str]]:
        while self.at < len(self.text):
            self.step()
        self.end_word()
        return [words for words in self.found if words]

    def step(self) -> None:
        char = self.text[self.at]
        if char == "\n" or char in ";|&()":
            self.operator()
        elif char.isspace():
            self.end_word()
            self.at += 1
        elif char == "#" and self.word is None:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif char in "<>" or (char.isdigit() and self.word is None):
            self.redirect(char)
        else:
            self.part(char)

    def operator(self) -> None:
        if self.text.startswith("&>", self.at):
            self.redirect("&")
            return
        end = _ENDS.match(self.text, self.at)
        self.end_word()
        self.drops = False
        self.found.append([])
        self.at = end.end() if end else self.at + 1

    def redirect(self, char: str) -> None:
        match = _REDIRECT.match(self.text, self.at)
        if match is None:
            self.part(char)
            return
        self.end_word()
        self.drops = match.group(1) is None
        self.at = match.end()

    def part(self, char: str) -> None:
        for pattern, text_of in _PARTS.get(char, ()):
            match = pattern.match(self.text, self.at)
            if match is not None:
                self.add(text_of(match, self.constants))
                self.at = match.end()
                return
        if char in "$`":
            self.add(UNREAD)
            self.at = _after(self.text, self.at)
        elif char in "'\"":
            # A quote that nothing closes: the words after it still say what they say.
            self.add("")
            self.at += 1
        elif char == "\\":
            self.add(self.text[self.at + 1 : self.at + 2].replace("\n", ""))
            self.at += 2
        else:
            match = _PLAIN.match(self.text, self.at)
            self.add(match.group() if match else char)
            self.at = match.end() if match else self.at + 1

    def add(self, text: str) -> None:
        if self.word is None:
            self.word = []
        self.word.append(text)

    def end_word(self) -> None:
        if self.word is None:
            return
        whole = "".join(self.word)
        if not self.drops:
            self.found[-1].append(whole if len(whole) <= LONGEST_WORD else UNREAD)
        self.word, self.drops = None, False


def _after(text: str, at: int) -> int:
    """Return where a command in the middle of a word, or a special variable, ends."""
    match = _COMMAND.match(text, at)
    if match is None:
        special = _SPECIAL.match(text, at)
        return special.end() if special else at + 1
    if match.group() == "`":
        end = text.find("`", at + 1)
        return len(text) if end < 0 else end + 1
    depth = 0
    for index in range(at + 1, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)


def _variable(match: re.Match[str], constants: Mapping[str, str]) -> str:
    """Return the value of a variable that is constant, else of its default, else what is unread."""
    name = match.group(1) or match.group(2) or match.group(3)
    otherwise = UNREAD if match.group(4) is None else match.group(4)
    return constants.get(name, otherwise)


def _inside(match: re.Match[str], constants: Mapping[str, str]) -> str:
    """Return what stands between double quotes, with its variables."""
    found: list[str] = []
    text, at = match.group(1), 0
    while at < len(text):
        char = text[at]
        escaped = _ESCAPED.match(text, at)
        named = _NAME.match(text, at)
        if escaped is not None:
            found.append(escaped.group(1).replace("\n", ""))
            at = escaped.end()
        elif named is not None:
            found.append(_variable(named, constants))
            at = named.end()
        elif char in "$`":
            found.append(UNREAD)
            at = _after(text, at)
        else:
            found.append(char)
            at += 1
    return "".join(found)


_PARTS = {
    "'": ((_SINGLE, lambda match, _: match.group(1)),),
    '"': ((_DOUBLE, _inside),),
    "$": ((_NAME, _variable),),
}
"""How a part of a word that begins with a mark is read."""
