"""Read a glslangValidator command line that makes one SPIR-V module."""

from __future__ import annotations

from shaderc_tool.toolchains.glslc_command import STAGES, GlslcCommand, NotPlainError

_WITH_VALUE = ("-S", "-o", "--target-env", "-e", "--depfile", "--source-entrypoint")
_IGNORED = ("-V", "--quiet", "-V100", "-t")


def read_glslang(arguments: list[str]) -> GlslcCommand:
    """The compile in glslc's terms; it is not optimized. Raises NotPlainError."""
    values: dict[str, str] = {}
    defines: dict[str, str] = {}
    include: list[str] = []
    sources: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in _WITH_VALUE:
            values[word] = next(words, "")
        elif word.startswith("-D"):
            name, _, text = word[2:].partition("=")
            defines[name] = text
        elif word.startswith("-I"):
            include.append(word[2:] or next(words, ""))
        elif word == "-g":
            values[word] = word
        elif not word.startswith("-"):
            sources.append(word)
        elif word not in _IGNORED and not word.startswith("-P#extension GL_GOOGLE_include_directive"):
            raise NotPlainError(word)
    return _command(arguments, values, defines, include, sources)


def _command(
    arguments: list[str], values: dict[str, str], defines: dict[str, str], include: list[str], sources: list[str]
) -> GlslcCommand:
    if len(sources) != 1 or not any(w.startswith("-V") or w == "--target-env" for w in arguments):
        raise NotPlainError("not one source to SPIR-V")
    stage = STAGES.get(values.get("-S", sources[0].rsplit(".", 1)[-1]), "")
    if not stage or values.get("-e", "main") != "main":
        raise NotPlainError("not a compute shader with the entry point «main»")
    env = values.get("--target-env", "vulkan1.0")
    if not env.startswith("vulkan"):
        raise NotPlainError(f"--target-env {env}")
    return GlslcCommand(
        source=sources[0],
        output=values.get("-o", "comp.spv"),
        env=env,
        spv="",
        stage=stage,
        optimize="none",
        debug="-g" in values,
        defines=tuple(defines.items()),
        include=tuple(include),
        depfile=values.get("--depfile", ""),
        werror=False,
        quiet=False,
    )
