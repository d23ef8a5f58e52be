"""A stand-in for `xcrun` and `xcodebuild`, driven by `script.json` in the folder that it was installed to.

It appends each call to `calls.jsonl` there: argument list, environment, working directory. Without orders it behaves
as a working toolchain: `metal` writes stand-in AIR (JSON with the target and the kernels of the source) and a depfile,
`metallib` writes a real library container. `Script` says what else it can do.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

COMPONENT_TEXT = """\
Asset Path: /System/Library/AssetsV2/com_apple_MobileAsset_MetalToolchain/68d8.asset/AssetData
Build Version: {build}
Status: {status}
Toolchain Identifier: {identifier}
Toolchain Search Path: {mount}
"""
MOUNT = "/private/var/run/com.apple.security.cryptexd/mnt/com.apple.MobileAsset.MetalToolchain-v17.2.54.0"
NO_COMPONENT = (
    "error: error: cannot execute tool 'metal' due to missing Metal Toolchain; "
    "use: xcodebuild -downloadComponent MetalToolchain\n"
)
TOOLS_ONLY = 'xcrun: error: unable to find utility "metal", not a developer tool or in PATH\n'
NO_XCODE = (
    "xcrun: error: invalid active developer path (/Library/Developer/CommandLineTools), "
    "missing xcrun at: /Library/Developer/CommandLineTools/usr/bin/xcrun\n"
)
MOVED = (
    "xcrun: error: unable to spawn process '/var/run/com.apple.security.cryptexd/mnt/"
    "com.apple.MobileAsset.MetalToolchain-v17.3.7003.10.vbizJS/Metal.xctoolchain/usr/bin/metal' "
    "(No such file or directory)\n"
)
LICENSE = (
    "You have not agreed to the Xcode license agreements. Please run 'sudo xcodebuild -license' "
    "from within a Terminal window to review and agree to the Xcode and Apple SDKs license.\n"
)
NO_SDK = 'xcodebuild: error: SDK "xros" cannot be located.\n'


@dataclass(frozen=True)
class Order:
    """What `metal` or `metallib` does instead of its work, or beside it when `work` is set."""

    status: int = 0
    stdout: str = ""
    stderr: str = ""
    signal: int = 0
    work: bool = False
    drop_last: bool = False


@dataclass(frozen=True)
class Script:
    """The state of the pretended Mac. `orders` is by tool; `only_with` is the TOOLCHAINS value that is needed."""

    version: str = "32023.830"
    mount: str = "mDxgz0"
    fails: str = ""
    only_with: str = ""
    component: Mapping[str, str] | None = None
    xcode_build: str = ""
    orders: Mapping[str, Order] = field(default_factory=dict)

    def install(self, folder: Path) -> None:
        """Put `xcrun` and `xcodebuild` into `folder`, which then goes first on PATH."""
        folder.mkdir(exist_ok=True)
        (folder / "script.json").write_text(json.dumps(asdict(self)), "utf-8")
        starter = f"#!{sys.executable} -SE\nimport sys\nsys.path.insert(0, {str(_repository())!r})\n"
        starter += f"from tests.fakes import xcrun\nxcrun.main({str(folder)!r}, sys.argv)\n"
        for name in ("xcrun", "xcodebuild"):
            (folder / name).write_text(starter, "utf-8")
            (folder / name).chmod(0o755)


def calls(folder: Path) -> list[dict[str, Any]]:
    """The calls made so far, oldest first."""
    log = folder / "calls.jsonl"
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def _repository() -> Path:
    return Path(__file__).resolve().parents[2]


def main(folder: str, argv: list[str]) -> None:
    """Behave as the program that `argv[0]` names."""
    script = json.loads((Path(folder) / "script.json").read_text("utf-8"))
    call = {"argv": [Path(argv[0]).name, *argv[1:]], "env": dict(os.environ), "cwd": str(Path.cwd())}
    with (Path(folder) / "calls.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(call) + "\n")
    if Path(argv[0]).name == "xcodebuild":
        _xcodebuild(script, argv[1:])
    assert argv[1] == "-sdk", argv
    tool, arguments = argv[3], argv[4:]
    if script["fails"] and not (script["only_with"] and os.environ.get("TOOLCHAINS") == script["only_with"]):
        _end(1, "", script["fails"])
    _order(script["orders"].get(tool), arguments)
    if arguments == ["--version"]:
        _version(script, tool)
    _work(tool, argv[2], arguments)


def _end(status: int, stdout: str = "", stderr: str = "") -> None:
    sys.stdout.write(stdout)
    sys.stderr.write(stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _xcodebuild(script: dict[str, Any], arguments: list[str]) -> None:
    if arguments == ["-version"]:
        _end(0, f"Xcode 26.1\nBuild version {script['xcode_build']}\n") if script["xcode_build"] else _end(1)
    if script["component"] is None:
        _end(1, "", "xcodebuild: error: unknown component\n")
    _end(0, COMPONENT_TEXT.format(mount=f"{MOUNT}.{script['mount']}", **script["component"]))


def _order(order: dict[str, Any] | None, arguments: list[str]) -> None:
    if order is None or arguments == ["--version"]:
        return
    if order["signal"]:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", order["signal"]))
    if order["drop_last"]:
        del arguments[-1]
    elif order["work"]:
        sys.stdout.write(order["stdout"])
        sys.stderr.write(order["stderr"])
    else:
        _end(order["status"], order["stdout"], order["stderr"])


def _version(script: dict[str, Any], tool: str) -> None:
    version = script["version"]
    if tool == "metallib":
        _end(0, f"AIR-LLD {version} (metalfe-{version}) (compatible with legacy metallib linker)\n")
    place = f"{MOUNT}.{script['mount']}/Metal.xctoolchain/usr/metal/current/bin"
    text = f"Apple metal version {version} (metalfe-{version})\nTarget: air64-apple-darwin25.0.0\n"
    _end(0, f"{text}Thread model: posix\nInstalledDir: {place}\n")


def _work(tool: str, sdk: str, arguments: list[str]) -> None:
    system = {"macosx": "MACOSX"}.get(sdk, "IPHONEOS")
    leaked = [name for name in os.environ if name.endswith("_DEPLOYMENT_TARGET") and not name.startswith(system)]
    if leaked:
        _end(1, "", f"error: no such file or directory: 'libmetal_rt_ios.a' ({leaked[0]})\n")
    if tool == "metal":
        _compile(arguments)
    elif tool == "metallib":
        _link(arguments)
    _end(0)


def _compile(arguments: list[str]) -> None:
    value = {name: arguments[at + 1] for at, name in enumerate(arguments) if name in ("-target", "-o", "-MF")}
    targets = [a for a in arguments if a.startswith(("-target", "-mtargetos")) or "version-min=" in a]
    if targets != ["-target"]:
        _end(1, "", "error: cannot specify '-mtargetos=' along with '-target'\n")
    source = arguments[-1]
    if not Path(source).is_file():
        _end(1, "", f"error: no such file or directory: '{source}'\nerror: no input files\n")
    kernels = re.findall(r"kernel\s+void\s+(\w+)", Path(source).read_text("utf-8"))
    std = next(a for a in arguments if a.startswith("-std="))
    air = {"target": value["-target"], "std": std.rpartition("metal")[2], "kernels": kernels}
    Path(value["-o"]).write_text(json.dumps(air), "utf-8")
    Path(value["-MF"]).write_text(f"{value['-o']}: {source}\n", "utf-8")


def _link(arguments: list[str]) -> None:
    from tests.fakes.library import library

    assert arguments[0] == "-o", arguments
    airs = [json.loads(Path(name).read_text("utf-8")) for name in arguments[2:]]
    # The floor of a library is the one of the first file, whatever the others say.
    Path(arguments[1]).write_bytes(
        library(airs[0]["target"], [(k, air["std"]) for air in airs for k in air["kernels"]])
    )
