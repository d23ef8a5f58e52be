; Context switch for AArch64, AAPCS64: x19 to x30 and the low halves of v8 to v15 are callee-saved.
; void switch(char **save, char *to)

define void @spk.switch(i8** %save, i8* %to) naked noinline nounwind {
  call void asm sideeffect "sub sp, sp, #160\0Astp x19, x20, [sp, #0]\0Astp x21, x22, [sp, #16]\0Astp x23, x24, [sp, #32]\0Astp x25, x26, [sp, #48]\0Astp x27, x28, [sp, #64]\0Astp x29, x30, [sp, #80]\0Astp d8, d9, [sp, #96]\0Astp d10, d11, [sp, #112]\0Astp d12, d13, [sp, #128]\0Astp d14, d15, [sp, #144]\0Amov x9, sp\0Astr x9, [x0]\0Amov sp, x1\0Aldp x19, x20, [sp, #0]\0Aldp x21, x22, [sp, #16]\0Aldp x23, x24, [sp, #32]\0Aldp x25, x26, [sp, #48]\0Aldp x27, x28, [sp, #64]\0Aldp x29, x30, [sp, #80]\0Aldp d8, d9, [sp, #96]\0Aldp d10, d11, [sp, #112]\0Aldp d12, d13, [sp, #128]\0Aldp d14, d15, [sp, #144]\0Aadd sp, sp, #160\0Aret", ""()
  unreachable
}

; The link register, saved 88 bytes above the stack pointer, is where `ret` goes.
define internal i8* @spk.prepare(i8* %top, i8* %entry) nounwind {
  %sp = getelementptr i8, i8* %top, i64 -160
  call void @llvm.memset.p0i8.i64(i8* %sp, i8 0, i64 160, i1 false)
  %link = getelementptr i8, i8* %sp, i64 88
  %link.p = bitcast i8* %link to i8**
  store i8* %entry, i8** %link.p
  ret i8* %sp
}
