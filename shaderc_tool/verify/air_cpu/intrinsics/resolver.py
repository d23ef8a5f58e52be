"""Operations that several lanes of a simdgroup perform together.

A lane puts its operands into a slot on its own stack, names its call site and a resolver, and blocks. When every live
lane of the simdgroup is blocked, the scheduler calls the resolver of the earliest site with the slots of the lanes
that wait there; it writes each lane's result into its slot.
"""

from __future__ import annotations

from collections.abc import Sequence

from shaderc_tool.verify.air_cpu.intrinsics.signature import Body


class Resolver(Body):
    """Builds `i32 resolver(i8** slots, i32 mask)`: 0, or a fault code.

    `slot` is the IR type of the slots. Loops over the participating lanes are opened by `lanes` and closed by `end`.
    """

    def __init__(self, slot: str) -> None:
        super().__init__()
        self.slot = slot
        self._loops = 0
        self._open = 0

    def lanes(self) -> tuple[str, str]:
        """Open a loop; gives (lane number, slot pointer)."""
        n = self._open = self._loops
        self._loops += 1
        self.do(f"br label %enter{n}")
        self.label(f"enter{n}")
        self.do(f"br label %head{n}")
        self.label(f"head{n}")
        self.do(f"%lane{n} = phi i32 [ 0, %enter{n} ], [ %next{n}, %again{n} ]")
        self.do(f"%more{n} = icmp ult i32 %lane{n}, 32")
        self.do(f"br i1 %more{n}, label %test{n}, label %after{n}")
        self.label(f"test{n}")
        taking_part = self.bit("%mask", f"%lane{n}")
        self.do(f"br i1 {taking_part}, label %body{n}, label %again{n}")
        self.label(f"body{n}")
        return f"%lane{n}", self.pointer(f"%lane{n}")

    def end(self) -> None:
        """Close the loop."""
        n = self._open
        self.do(f"br label %again{n}")
        self.label(f"again{n}")
        self.do(f"%next{n} = add i32 %lane{n}, 1")
        self.do(f"br label %head{n}")
        self.label(f"after{n}")

    def bit(self, mask: str, lane: str) -> str:
        """Whether a bit of an i32 is set."""
        shifted = self.op(f"lshr i32 {mask}, {lane}")
        return self.op(f"trunc i32 {shifted} to i1")

    def pointer(self, lane: str) -> str:
        """The slot of a lane."""
        place = self.op(f"getelementptr i8*, i8** %slots, i32 {lane}")
        raw = self.op(f"load i8*, i8** {place}")
        return self.op(f"bitcast i8* {raw} to {self.slot}*")

    def field(self, pointer: str, kind: str, index: int) -> str:
        """Load a field of a slot."""
        place = self.op(f"getelementptr {self.slot}, {self.slot}* {pointer}, i32 0, i32 {index}")
        return self.op(f"load {kind}, {kind}* {place}")

    def store(self, pointer: str, kind: str, index: int, value: str) -> None:
        """Store a field of a slot."""
        place = self.op(f"getelementptr {self.slot}, {self.slot}* {pointer}, i32 0, i32 {index}")
        self.do(f"store {kind} {value}, {kind}* {place}")

    def text(self, name: str, result: str = "0") -> str:
        """The finished function."""
        body = "\n".join(self.lines)
        return f"""define internal i32 @spk.resolve.{name}(i8** %slots, i32 %mask) nounwind {{
{body}
  ret i32 {result}
}}"""


def blocking_call(name: str, slot: str, operands: Sequence[tuple[str, str]], result: str) -> list[str]:
    """Body of a function that fills a slot with operands, blocks, and loads its result, the slot's last field."""
    lines = [f"  %slot = alloca {slot}"]
    for index, (kind, value) in enumerate(operands):
        lines.append(f"  %in{index} = getelementptr {slot}, {slot}* %slot, i32 0, i32 {index}")
        lines.append(f"  store {kind} {value}, {kind}* %in{index}")
    lines.append(f"  %raw = bitcast {slot}* %slot to i8*")
    resolver = f"i8* bitcast (i32 (i8**, i32)* @spk.resolve.{name} to i8*)"
    lines.append(f"  call void @spk.block(i32 1, i32 %site, i8* %raw, {resolver}) convergent")
    if result == "void":
        return [*lines, "  ret void"]
    lines.append(f"  %out = getelementptr {slot}, {slot}* %slot, i32 0, i32 {len(operands)}")
    lines.append(f"  %result = load {result}, {result}* %out")
    return [*lines, f"  ret {result} %result"]
