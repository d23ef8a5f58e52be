; Context switch for x86-64, System V calling convention: callee-saved registers go onto the stack that is left.
; void switch(char **save, char *to)

define void @spk.switch(i8** %save, i8* %to) naked noinline nounwind {
  call void asm sideeffect "pushq %rbp\0Apushq %rbx\0Apushq %r12\0Apushq %r13\0Apushq %r14\0Apushq %r15\0Amovq %rsp, (%rdi)\0Amovq %rsi, %rsp\0Apopq %r15\0Apopq %r14\0Apopq %r13\0Apopq %r12\0Apopq %rbx\0Apopq %rbp\0Aretq", ""()
  unreachable
}

; Six saved registers, then the address to return to. After `ret` the stack pointer is 8 modulo 16, as at a call.
define internal i8* @spk.prepare(i8* %top, i8* %entry) nounwind {
  %sp = getelementptr i8, i8* %top, i64 -64
  call void @llvm.memset.p0i8.i64(i8* %sp, i8 0, i64 64, i1 false)
  %return = getelementptr i8, i8* %top, i64 -16
  %return.p = bitcast i8* %return to i8**
  store i8* %entry, i8** %return.p
  ret i8* %sp
}
