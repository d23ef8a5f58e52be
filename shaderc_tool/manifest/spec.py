"""The shape of a schema-1 manifest. `docs/manifest.md` explains each key; `shaderpack schema` exports this."""

from __future__ import annotations

from typing import Any

from shaderc_tool.manifest.shapes import Either, Flag, Integer, Key, ListOf, MapOf, Record, Text

SCHEMA_VERSION = "1"

VULKAN_ENVS = ("vulkan1.0", "vulkan1.1", "vulkan1.2", "vulkan1.3", "vulkan1.4")
SDKS = (
    "macosx",
    "iphoneos",
    "iphonesimulator",
    "appletvos",
    "appletvsimulator",
    "watchos",
    "xros",
    "xrsimulator",
    "maccatalyst",
)
LAYOUTS = ("std430", "scalar", "relaxed", "uniform-std430")
OPTIMIZE = ("none", "size", "speed")
VALIDATE = ("error", "warning", "off")
MATH = ("safe", "relaxed", "fast")
STORAGES = ("incbin", "string", "words", "hex", "embed")
OUTPUT_KINDS = ("c-header", "metallib", "embed", "xcframework")

_C_NAME = Text(pattern=r"[A-Za-z_]\w*", hint="a C identifier")
_NAME_PATTERN = r"[A-Za-z_][\w.+-]*"
_NAME_HINT = "letters, digits, «_», «-», «.» and «+», starting with a letter"
_PATH = Text()
_VERSION = Text(pattern=r"\d+(\.\d+){0,2}", hint='a version such as "14.0"')
_STD = Text(pattern=r"metal\d\.\d", hint="a language version such as metal3.1")
_DEFINES = MapOf(Text(), key_pattern=r"[A-Za-z_]\w*", key_hint="a macro name")
_NAMES = ListOf(_C_NAME)
_MEMBERS = ListOf(
    Text(pattern=r"[A-Za-z_]\w*(\s*:\s*[a-z]\w*)?", hint="`name` (a uint) or `name: type` in quotes"),
    single=False,
)
_GRID = ListOf(Text(), minimum=1)
_TARGETS = Key(ListOf(Text()), "targets that this entry is built for; all of its API when absent")
_MATCH = ListOf(Text())

_VULKAN_KEYS = {
    "file": Key(_PATH, "GLSL source, relative to sources.vulkan", required=True),
    "symbol": Key(Text(), "C symbol prefix and .spv name; a template in a matrix", required=True),
    "entry": Key(_C_NAME, "entry point; main when absent"),
    "stage": Key(Text(allowed=("compute",)), "shader stage; compute when absent"),
    "defines": Key(_DEFINES, "preprocessor macros"),
    "local_size": Key(ListOf(Integer(1), single=False), "declared local size, checked against the module"),
    "bindings": Key(_NAMES, "names of the bindings 0, 1, … of descriptor set 0, checked against the module"),
    "push_constants": Key(_MEMBERS, "push-constant members in order, checked against the module"),
    "grid": Key(_GRID, "work-group counts as expressions over the push constants, for verify"),
    "optimize": Key(Text(allowed=OPTIMIZE), "overrides defaults.vulkan.optimize"),
    "layout": Key(Text(allowed=LAYOUTS), "block layout rules that spirv-val applies"),
    "validate": Key(Text(allowed=VALIDATE), "overrides defaults.vulkan.validate"),
    "targets": _TARGETS,
}
VULKAN_ENTRY = Record(_VULKAN_KEYS)
_CASES_ENTRY = Record({**_VULKAN_KEYS, "symbol": Key(Text(), "template of the symbols of a matrix; not with `cases`")})

METAL_FUNCTION = Record(
    {
        "buffers": Key(_NAMES, "argument names by buffer index; `args` marks the argument struct"),
        "args": Key(_MEMBERS, "members of the argument struct in order"),
        "threadgroup": Key(ListOf(Integer(1), single=False), "threads per threadgroup, for verify"),
        "grid": Key(_GRID, "threadgroup counts as expressions over the args members, for verify"),
        "verify": Key(Text(), "name of the reference"),
        "requires_std": Key(_STD, "least language version, for a kernel behind a version guard"),
    }
)

METAL_ENTRY = Record(
    {
        "file": Key(_PATH, "Metal source, relative to sources.metal", required=True),
        "functions": Key(
            Either(
                {
                    "list": ListOf(_C_NAME, minimum=1),
                    "scalar": _C_NAME,
                    "mapping": MapOf(METAL_FUNCTION, r"[A-Za-z_]\w*", "a C identifier"),
                }
            ),
            "kernels that the library must hold",
            required=True,
        ),
        "defines": Key(_DEFINES, "preprocessor macros"),
        "optimize": Key(Text(allowed=OPTIMIZE), "overrides defaults.metal.optimize"),
        "math": Key(Text(allowed=MATH), "overrides defaults.metal.math"),
        "targets": _TARGETS,
    }
)

TARGET = Record(
    {
        "api": Key(Text(allowed=("vulkan", "metal")), "which API", required=True),
        "env": Key(Text(allowed=VULKAN_ENVS), "Vulkan environment; vulkan1.2 when absent"),
        "spv": Key(Text(pattern=r"1\.[0-6]", hint='a SPIR-V version such as "1.5"'), "SPIR-V version, if not env's"),
        "sdk": Key(Text(allowed=SDKS), "Apple SDK (Metal only)"),
        "min_os": Key(_VERSION, "deployment target (Metal only)"),
        "sdk_version": Key(_VERSION, "SDK version recorded in objects (Metal only)"),
        "std": Key(_STD, "Metal language version"),
        "optional": Key(Flag(), "when true, a missing toolchain skips this target with a warning"),
    }
)

VARIANT_SET = Record(
    {
        "vulkan": Key(_CASES_ENTRY, "the entry that is expanded", required=True),
        "matrix": Key(
            MapOf(
                Either({"list": ListOf(Text(), single=False, minimum=1), "mapping": MapOf(_DEFINES)}),
                r"[A-Za-z_]\w*",
                "an identifier",
            ),
            "axes: a list of values, or value: {MACRO: text} to bring macros along",
        ),
        "cases": Key(
            ListOf(
                Record(
                    {
                        "symbol": Key(Text(), "C symbol prefix and .spv name", required=True),
                        "defines": Key(_DEFINES, "macros of this variant beside the common ones"),
                    }
                ),
                single=False,
                minimum=1,
            ),
            "variants one by one, instead of a matrix",
        ),
        "defines": Key(_DEFINES, "macros by template over the axes, or common to all cases"),
        "exclude": Key(ListOf(MapOf(ListOf(Text()))), "combinations that are left out"),
        "verify": Key(Text(), "name of the reference"),
    }
)

POLICY = Record(
    {
        "when": Key(
            Record(
                {
                    "capability": Key(_MATCH, "SPIR-V capability of the module"),
                    "extension": Key(_MATCH, "SPIR-V extension of the module"),
                    "kernel": Key(_MATCH, "kernel name, glob"),
                    "symbol": Key(_MATCH, "symbol, glob"),
                }
            ),
            "all of these must match",
            required=True,
        ),
        "optimize": Key(Text(allowed=OPTIMIZE), "the optimization level to use", required=True),
        "reason": Key(Text(), "why, for the report", required=True),
    }
)

OUTPUT = Record(
    {
        "kind": Key(Text(allowed=OUTPUT_KINDS), "what to make", required=True),
        "target": Key(ListOf(Text()), "for which targets", required=True),
        "storage": Key(Text(allowed=STORAGES), "how a C header's data is stored; incbin when absent"),
        "payload": Key(Text(allowed=("metallib", "source")), "what an embed bundle holds"),
        "symbol": Key(_C_NAME, "symbol prefix of an embed bundle; <pack>_metallib or <pack>_source when absent"),
        "section": Key(
            Text(pattern=r"[^,\s\"\\]{1,16},[^,\s\"\\]{1,16}", hint="`SEGMENT,section`, each of 16 characters at most"),
            "Mach-O section of an embed bundle; __DATA,__const when absent",
        ),
        "substitutions": Key(MapOf(_PATH), "for includes and embed markers of the merged source: name: file"),
        "std": Key(ListOf(_STD), "language versions that the merged source must compile at; the target's when absent"),
        "private_extern": Key(Flag(), "hide the embed symbols outside the linked image"),
        "name": Key(_C_NAME, "name of an xcframework; the pack's name, capitalised, when absent"),
    }
)

_AXIS_SOURCE = Record(
    {
        "file": Key(_PATH, "host source, relative to the manifest", required=True),
        "pattern": Key(Text(), "regular expression; its groups are the values", required=True),
        "lower": Key(Flag(), "values in lower case"),
    }
)

CONSUMER = Record(
    {
        "files": Key(ListOf(Text()), "host sources, as globs relative to the manifest", required=True),
        "axes": Key(
            MapOf(Either({"list": ListOf(Text(), single=False, minimum=1), "mapping": _AXIS_SOURCE})),
            'values of format arguments: `dk: [64, 128]`, `"dk, dv": ["64, 64"]`, or read from a host source',
        ),
        "prefix": Key(ListOf(Text()), "what kernel names start with; kernel_ when absent"),
        "unused": Key(ListOf(Text()), "kernels, as globs, that no host source has to name"),
    }
)

STRUCTS = Record(
    {
        "header": Key(_PATH, "C or C++ header, relative to the manifest", required=True),
        "struct": Key(_C_NAME, "record of the header", required=True),
        "kernels": Key(ListOf(Text()), "symbols and functions, as globs, that take it", required=True),
    }
)

DEVICE_PROFILE = Record(
    {
        "capabilities": Key(ListOf(Text()), "SPIR-V capabilities that the device has, as globs", required=True),
        "extensions": Key(ListOf(Text()), "SPIR-V extensions that the device has, as globs"),
        "spirv": Key(Text(pattern=r"1\.[0-6]", hint='a SPIR-V version such as "1.5"'), "newest SPIR-V version"),
        "invocations": Key(Integer(1), "largest number of invocations in a work-group"),
        "targets": _TARGETS,
    }
)

PROOFS = ("present", "interface", "verified", "dispatched", "loaded_on_apple_hardware")

AUDIT = Record(
    {
        "require": Key(ListOf(Text()), "symbols that must be there beside the declared kernels"),
        "forbid": Key(ListOf(Text()), "symbols, as globs, that must not be there"),
        "size_budget": Key(
            MapOf(Text(pattern=r"\d+\s*([KMG]i?B|B)?", hint="a size such as 64 KiB")),
            "largest size of each output that a glob matches, or `total`",
        ),
        "size_growth": Key(Text(pattern=r"\d+\s*%", hint="a share such as 10%"), "growth over the baseline that warns"),
        "consumers": Key(
            ListOf(Either({"scalar": Text(), "mapping": CONSUMER})),
            "host sources, as globs, whose kernel names are compared",
        ),
        "structs": Key(
            ListOf(Either({"scalar": _PATH, "mapping": STRUCTS})),
            "C headers whose records are compared with the argument structs of the shaders",
        ),
        "profiles": Key(MapOf(DEVICE_PROFILE, _NAME_PATTERN, _NAME_HINT), "devices that every module must run on"),
        "publishable": Key(ListOf(Text(allowed=PROOFS)), "what a kernel needs; present and verified when absent"),
    }
)

PATCH_SET = Record(
    {
        "file": Key(_PATH, "patch file, relative to the manifest", required=True),
        "copy": Key(
            ListOf(
                Record(
                    {
                        "target": Key(Text(), "the target whose sources are copied", required=True),
                        "to": Key(Text(), "path in the tree, with {stem} and {symbol}", required=True),
                    }
                )
            ),
            "sources that go into the tree with the patch",
        ),
    }
)

MANIFEST = Record(
    {
        "schema": Key(Text(), f"schema version, {SCHEMA_VERSION}", required=True),
        "pack": Key(
            Text(pattern=r"[A-Za-z_][\w-]*", hint="a name such as milady"),
            "name of the bundle",
            required=True,
        ),
        "root": Key(
            _PATH,
            "folder that all paths must stay in; default: the manifest's, or the one above `manifests/`",
        ),
        "sources": Key(
            Record(
                {
                    "vulkan": Key(_PATH, "folder of GLSL sources"),
                    "metal": Key(_PATH, "folder of Metal sources"),
                }
            ),
            "source folders, relative to the manifest",
        ),
        "include": Key(ListOf(_PATH), "include folders, relative to the manifest"),
        "targets": Key(MapOf(TARGET, _NAME_PATTERN, _NAME_HINT), "what to build for", required=True),
        "defaults": Key(
            Record(
                {
                    "vulkan": Key(
                        Record(
                            {
                                "optimize": Key(Text(allowed=OPTIMIZE), "speed when absent"),
                                "layout": Key(Text(allowed=LAYOUTS), "std430 when absent"),
                                "validate": Key(
                                    Text(allowed=VALIDATE), "what a module is that spirv-val rejects; error when absent"
                                ),
                                "debug": Key(Flag(), "keep debug information"),
                                "defines": Key(_DEFINES, "macros for every shader"),
                            }
                        ),
                        "defaults of Vulkan entries",
                    ),
                    "metal": Key(
                        Record(
                            {
                                "optimize": Key(Text(allowed=OPTIMIZE), "speed when absent"),
                                "math": Key(Text(allowed=MATH), "safe when absent"),
                                "debug": Key(Flag(), "keep debug information"),
                                "defines": Key(_DEFINES, "macros for every source"),
                            }
                        ),
                        "defaults of Metal entries",
                    ),
                }
            ),
            "defaults",
        ),
        "kernels": Key(
            MapOf(
                Record(
                    {
                        "vulkan": Key(VULKAN_ENTRY, "the Vulkan form"),
                        "metal": Key(METAL_ENTRY, "the Metal form"),
                        "verify": Key(Text(), "name of the reference"),
                    }
                ),
                _NAME_PATTERN,
                _NAME_HINT,
            ),
            "the kernels by name",
        ),
        "variants": Key(MapOf(VARIANT_SET, _NAME_PATTERN, _NAME_HINT), "matrices of Vulkan variants"),
        "policies": Key(ListOf(POLICY), "optimization rules, each with a reason"),
        "outputs": Key(ListOf(OUTPUT), "what to package"),
        "audit": Key(AUDIT, "the gate's rules"),
        "patches": Key(ListOf(PATCH_SET), "patches for another source tree, for `shaderpack patch`"),
    }
)


def json_schema() -> dict[str, Any]:
    """The manifest's JSON Schema (draft 2020-12) for editors and other tools."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"shaderpack manifest, schema {SCHEMA_VERSION}",
        **MANIFEST.schema(),
    }
