"""Read a glslc command line: what it compiles, or why it is more than one plain compile.

The forms are those of glslc's manual; an option that is not listed here is never guessed at (peers.md 3b).
"""

from __future__ import annotations

from dataclasses import dataclass

STAGES = {"compute": "compute", "comp": "compute"}
_OPTIMIZE = {"-O0": "none", "-Os": "size", "-O": "speed"}
_VALUE_OPTIONS = ("-MF", "-MT", "-MQ", "-o", "-D", "-I", "-x", "-U")
"""Options whose value is the rest of the word, or the next word when nothing is left."""


@dataclass(frozen=True)
class GlslcCommand:
    """One source to one SPIR-V file. Paths are as written.

    `depfile` is "" when none is asked for; `werror` and `quiet` are `-Werror` and `-w`.
    """

    source: str
    output: str
    env: str
    spv: str
    stage: str
    optimize: str
    debug: bool
    defines: tuple[tuple[str, str], ...]
    include: tuple[str, ...]
    depfile: str
    werror: bool
    quiet: bool


class NotPlainError(Exception):
    """The command is something else than one plain compile; the message says what."""


def read_glslc(arguments: list[str]) -> GlslcCommand:
    """The command behind glslc's arguments (without the program). Raises NotPlainError."""
    reader = _Reader()
    words = iter(arguments)
    for word in words:
        option = next((o for o in _VALUE_OPTIONS if word.startswith(o)), "")
        if option:
            value = word[len(option) :] or next(words, "")
            if not value:
                raise NotPlainError(f"{option} has no value")
            reader.value_option(option, value)
        elif word.startswith("-"):
            reader.flag(word)
        else:
            reader.sources.append(word)
    return reader.command()


class _Reader:
    def __init__(self) -> None:
        self.sources: list[str] = []
        self.defines: dict[str, str] = {}
        self.include: list[str] = []
        self.values: dict[str, str] = {"env": "vulkan1.0", "spv": "", "stage": "", "optimize": "none"}
        self.flags: set[str] = set()

    def value_option(self, option: str, value: str) -> None:
        if option == "-D":
            name, _, text = value.partition("=")
            self.defines.pop(name, None)
            self.defines[name] = text
        elif option == "-I":
            self.include.append(value)
        elif option in ("-o", "-MF"):
            self.values[option] = value
        elif option != "-x" or value != "glsl":
            raise NotPlainError(f"{option} {value}")

    def flag(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if word in _OPTIMIZE:
            self.values["optimize"] = _OPTIMIZE[word]
        elif word in ("-c", "-g", "-MD", "-Werror", "-w", "-mfmt=bin"):
            self.flags.add(word)
        elif name == "--target-env" and equals:
            self.values["env"] = "vulkan1.0" if value == "vulkan" else value
        elif name == "--target-spv" and value.startswith("spv"):
            self.values["spv"] = value[3:]
        elif name == "-fshader-stage" and value in STAGES:
            self.values["stage"] = STAGES[value]
        else:
            raise NotPlainError(word)

    def command(self) -> GlslcCommand:
        if len(self.sources) != 1:
            raise NotPlainError(f"{len(self.sources)} sources")
        source, output = self.sources[0], self.values.get("-o", "")
        if output in ("", "-"):
            raise NotPlainError("the output is not a named file")
        suffix = source.rsplit(".", 1)[-1]
        stage = self.values["stage"] or STAGES.get(suffix, "")
        if not stage:
            raise NotPlainError(f"shader stage of {source}")
        if not self.values["env"].startswith("vulkan"):
            raise NotPlainError(f"--target-env={self.values['env']}")
        depfile = self.values.get("-MF", f"{output}.d") if "-MD" in self.flags else ""
        if "-MF" in self.values and not depfile:
            raise NotPlainError("-MF without -MD")
        return GlslcCommand(
            source=source,
            output=output,
            env=self.values["env"],
            spv=self.values["spv"],
            stage=stage,
            optimize=self.values["optimize"],
            debug="-g" in self.flags,
            defines=tuple(self.defines.items()),
            include=tuple(self.include),
            depfile=depfile,
            werror="-Werror" in self.flags,
            quiet="-w" in self.flags,
        )
