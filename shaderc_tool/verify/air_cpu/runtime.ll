; The scheduler that is linked into every kernel module.
;
; One fiber per GPU thread, all fibers of one threadgroup on one operating-system thread. A fiber runs until it
; finishes, faults, or blocks in @spk.block; then control returns to @spk.simdgroup, which stored its own stack pointer
; in @spk.control. Order of execution is fixed, so every run of a kernel gives the same bits.
;
; Thread states: 0 ready, 1 waits in a simdgroup or quadgroup operation, 2 waits at a threadgroup barrier,
; 3 finished, 4 gave way inside a chain of atomic operations.
;
; Fault codes (mirrored in faults.py): 1 out of bounds, 2 barrier divergence, 3 deadlock, 4 time limit,
; 5 private stack overflow, 6 incomplete simdgroup.

;                      0 sp 1 state 2 site 3 slot 4 resolver 5 index 6 position 7 atomics 8 stack low 9 stack high
%spk.thread = type { i8*, i32, i32, i8*, i8*, i32, [3 x i32], i32, i8*, i8* }

;                      0 code 1 thread 2 site 3 unused 4, 5 operands
%spk.fault = type { i32, i32, i32, i32, i64, i64 }

; 0 threads 1 stacks 2 bytes per stack 3 threadgroup size 4 threadgroups 5 threads in the grid 6 position of the current
; threadgroup 7 its size 8 its threads 9 stop flag 10 scheduler sp 11 current thread 12 fault 13 number of ranges
; 14 ranges (low, high) 15 barriers passed 16 simdgroup operations 17 barriers that opened without some threads
; 18 progress of this round
%spk.control.type = type { %spk.thread*, i8*, i64, [3 x i32], [3 x i32], [3 x i32], [3 x i32], [3 x i32], i32, i32, i8*, %spk.thread*, %spk.fault, i64, [2 x i64]*, i64, i64, i64, i32 }

@spk.control = global %spk.control.type zeroinitializer

; By parameter of the kernel: address, and first and last address.
@spk.args = global [128 x i64] zeroinitializer
@spk.bounds = global [128 x [2 x i64]] zeroinitializer

; --- leaving a fiber

define void @spk.block(i32 %state, i32 %site, i8* %slot, i8* %resolver) noinline convergent nounwind {
  %t = load %spk.thread*, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 11)
  %state.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 1
  store i32 %state, i32* %state.p
  %site.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 2
  store i32 %site, i32* %site.p
  %slot.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 3
  store i8* %slot, i8** %slot.p
  %resolver.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 4
  store i8* %resolver, i8** %resolver.p
  %sp.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 0
  %home = load i8*, i8** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 10)
  call void @spk.switch(i8** %sp.p, i8* %home)
  ret void
}

define void @spk.record(i32 %code, i32 %thread, i32 %site, i64 %a, i64 %b) noinline cold nounwind {
  store i32 %code, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 12, i32 0)
  store i32 %thread, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 12, i32 1)
  store i32 %site, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 12, i32 2)
  store i64 %a, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 12, i32 4)
  store i64 %b, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 12, i32 5)
  ret void
}

; A fault inside a fiber: the fiber is abandoned where it stands.
define void @spk.fail(i32 %code, i32 %site, i64 %a, i64 %b) noinline cold noreturn nounwind {
  %t = load %spk.thread*, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 11)
  %index.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 5
  %index = load i32, i32* %index.p
  call void @spk.record(i32 %code, i32 %index, i32 %site, i64 %a, i64 %b)
  call void @spk.block(i32 3, i32 %site, i8* null, i8* null)
  unreachable
}

define void @spk.entry() noinline noreturn nounwind {
  call void @spk.kernel()
  call void @spk.block(i32 3, i32 0, i8* null, i8* null)
  unreachable
}

; --- what instrumented kernels call

define internal void @spk.check(i64 %address, i64 %bytes, i64 %low, i64 %high, i32 %site) alwaysinline nounwind {
  %below = icmp ult i64 %address, %low
  %last = sub i64 %high, %bytes
  %above = icmp ugt i64 %address, %last
  %bad = or i1 %below, %above
  br i1 %bad, label %fault, label %fine
fault:
  call void @spk.fail(i32 1, i32 %site, i64 %address, i64 %bytes)
  unreachable
fine:
  ret void
}

; For pointers whose buffer is not known at compile time: any declared range, or this thread's own stack.
define void @spk.check.any(i64 %address, i64 %bytes, i32 %site) noinline nounwind {
entry:
  %end = add i64 %address, %bytes
  %t = load %spk.thread*, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 11)
  %low.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 8
  %low.v = load i8*, i8** %low.p
  %low = ptrtoint i8* %low.v to i64
  %high.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 9
  %high.v = load i8*, i8** %high.p
  %high = ptrtoint i8* %high.v to i64
  %above = icmp uge i64 %address, %low
  %under = icmp ule i64 %end, %high
  %own = and i1 %above, %under
  br i1 %own, label %fine, label %table
table:
  %count = load i64, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 13)
  %ranges = load [2 x i64]*, [2 x i64]** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 14)
  br label %head
head:
  %i = phi i64 [ 0, %table ], [ %next, %again ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %test, label %fault
test:
  %from.p = getelementptr [2 x i64], [2 x i64]* %ranges, i64 %i, i64 0
  %from = load i64, i64* %from.p
  %to.p = getelementptr [2 x i64], [2 x i64]* %ranges, i64 %i, i64 1
  %to = load i64, i64* %to.p
  %after = icmp uge i64 %address, %from
  %before = icmp ule i64 %end, %to
  %inside = and i1 %after, %before
  br i1 %inside, label %fine, label %again
again:
  %next = add i64 %i, 1
  br label %head
fault:
  call void @spk.fail(i32 1, i32 %site, i64 %address, i64 %bytes)
  unreachable
fine:
  ret void
}

; For functions that touch memory on a kernel's behalf; no bounds (high = 0) means an unknown buffer.
define internal void @spk.check.either(i64 %address, i64 %bytes, i64 %low, i64 %high, i32 %site) nounwind {
  %unknown = icmp eq i64 %high, 0
  br i1 %unknown, label %any, label %one
any:
  call void @spk.check.any(i64 %address, i64 %bytes, i32 %site)
  ret void
one:
  call void @spk.check(i64 %address, i64 %bytes, i64 %low, i64 %high, i32 %site)
  ret void
}

; On every back edge: lets the time limit end a loop that never calls anything.
define internal void @spk.tick(i32 %site) alwaysinline nounwind {
  %stop = load volatile i32, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 9)
  %run = icmp eq i32 %stop, 0
  br i1 %run, label %fine, label %fault
fault:
  call void @spk.fail(i32 4, i32 %site, i64 0, i64 0)
  unreachable
fine:
  ret void
}

; After every atomic operation: every 64th gives way, so that a thread that spins does not starve the others.
define internal void @spk.atomic.done(i1 %changed, i32 %site) nounwind {
  br i1 %changed, label %moved, label %count
moved:
  store i32 1, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 18)
  br label %count
count:
  %t = load %spk.thread*, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 11)
  %atomics.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 7
  %before = load i32, i32* %atomics.p
  %after = add i32 %before, 1
  store i32 %after, i32* %atomics.p
  %rest = and i32 %after, 63
  %due = icmp eq i32 %rest, 0
  br i1 %due, label %yield, label %fine
yield:
  call void @spk.block(i32 4, i32 %site, i8* null, i8* null)
  br label %fine
fine:
  ret void
}

; --- one simdgroup: 0 blocked or finished, 1 some lane gave way, 2 fault

define internal i32 @spk.simdgroup(i32 %base, i32 %count) nounwind {
entry:
  %slots = alloca [32 x i8*]
  %slots.0 = getelementptr [32 x i8*], [32 x i8*]* %slots, i64 0, i64 0
  %threads = load %spk.thread*, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 0)
  %left = sub i32 %count, %base
  %partial = icmp ult i32 %left, 32
  %lanes = select i1 %partial, i32 %left, i32 32
  br label %run

run:                                              ; every ready lane runs until it blocks
  %lane = phi i32 [ 0, %entry ], [ %lane.next, %run.next ], [ 0, %resolved ]
  %run.more = icmp ult i32 %lane, %lanes
  br i1 %run.more, label %run.lane, label %scan
run.lane:
  %run.i = add i32 %base, %lane
  %run.t = getelementptr %spk.thread, %spk.thread* %threads, i32 %run.i
  %run.state.p = getelementptr %spk.thread, %spk.thread* %run.t, i64 0, i32 1
  %run.state = load i32, i32* %run.state.p
  %ready = icmp eq i32 %run.state, 0
  br i1 %ready, label %go, label %run.next
go:
  store %spk.thread* %run.t, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 11)
  %go.sp.p = getelementptr %spk.thread, %spk.thread* %run.t, i64 0, i32 0
  %go.sp = load i8*, i8** %go.sp.p
  call void @spk.switch(i8** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 10), i8* %go.sp)
  %fault = load i32, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 12, i32 0)
  %faulted = icmp ne i32 %fault, 0
  br i1 %faulted, label %failed, label %canary
canary:                                           ; the lowest word of the stack must still hold its own address
  %low.p = getelementptr %spk.thread, %spk.thread* %run.t, i64 0, i32 8
  %low = load i8*, i8** %low.p
  %low.w = bitcast i8* %low to i8**
  %mark = load i8*, i8** %low.w
  %intact = icmp eq i8* %mark, %low
  br i1 %intact, label %ran, label %overflow
overflow:
  call void @spk.record(i32 5, i32 %run.i, i32 0, i64 0, i64 0)
  br label %failed
ran:
  %state.now = load i32, i32* %run.state.p
  %gave.way = icmp eq i32 %state.now, 4
  br i1 %gave.way, label %run.next, label %advanced
advanced:
  store i32 1, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 18)
  br label %run.next
run.next:
  %lane.next = add i32 %lane, 1
  br label %run

scan:                                             ; the earliest site among the lanes that wait, and whether a barrier
  %s.lane = phi i32 [ 0, %run ], [ %s.next, %scan.next ]
  %s.site = phi i32 [ -1, %run ], [ %s.site.out, %scan.next ]
  %s.kind = phi i32 [ 0, %run ], [ %s.kind.out, %scan.next ]
  %s.spun = phi i32 [ 0, %run ], [ %s.spun.out, %scan.next ]
  %s.more = icmp ult i32 %s.lane, %lanes
  br i1 %s.more, label %scan.lane, label %scanned
scan.lane:
  %s.i = add i32 %base, %s.lane
  %s.t = getelementptr %spk.thread, %spk.thread* %threads, i32 %s.i
  %s.state.p = getelementptr %spk.thread, %spk.thread* %s.t, i64 0, i32 1
  %s.state = load i32, i32* %s.state.p
  %s.site.p = getelementptr %spk.thread, %spk.thread* %s.t, i64 0, i32 2
  %s.site.own = load i32, i32* %s.site.p
  %in.operation = icmp eq i32 %s.state, 1
  %at.barrier = icmp eq i32 %s.state, 2
  %waits = or i1 %in.operation, %at.barrier
  %earlier = icmp ult i32 %s.site.own, %s.site
  %better = and i1 %waits, %earlier
  %s.site.out = select i1 %better, i32 %s.site.own, i32 %s.site
  %s.kind.out = select i1 %better, i32 %s.state, i32 %s.kind
  %yielded = icmp eq i32 %s.state, 4
  br i1 %yielded, label %wake, label %scan.next
wake:
  store i32 0, i32* %s.state.p
  br label %scan.next
scan.next:
  %s.spun.out = phi i32 [ %s.spun, %scan.lane ], [ 1, %wake ]
  %s.next = add i32 %s.lane, 1
  br label %scan
scanned:
  %any.spun = icmp ne i32 %s.spun, 0
  br i1 %any.spun, label %spinning, label %still
spinning:
  ret i32 1
still:                                            ; lanes that wait behind a barrier wait for those that wait at it
  %operation = icmp eq i32 %s.kind, 1
  br i1 %operation, label %gather, label %blocked
blocked:
  ret i32 0

gather:                                           ; slots of the lanes that take part; null for the others
  %g.lane = phi i32 [ 0, %still ], [ %g.next, %gather.next ]
  %g.mask = phi i32 [ 0, %still ], [ %g.mask.out, %gather.next ]
  %g.fn = phi i8* [ null, %still ], [ %g.fn.out, %gather.next ]
  %g.more = icmp ult i32 %g.lane, 32
  br i1 %g.more, label %gather.lane, label %resolve
gather.lane:
  %g.slot.p = getelementptr [32 x i8*], [32 x i8*]* %slots, i64 0, i32 %g.lane
  store i8* null, i8** %g.slot.p
  %g.exists = icmp ult i32 %g.lane, %lanes
  br i1 %g.exists, label %gather.look, label %gather.next
gather.look:
  %g.i = add i32 %base, %g.lane
  %g.t = getelementptr %spk.thread, %spk.thread* %threads, i32 %g.i
  %g.state.p = getelementptr %spk.thread, %spk.thread* %g.t, i64 0, i32 1
  %g.state = load i32, i32* %g.state.p
  %g.site.p = getelementptr %spk.thread, %spk.thread* %g.t, i64 0, i32 2
  %g.site = load i32, i32* %g.site.p
  %g.waits = icmp eq i32 %g.state, 1
  %g.same = icmp eq i32 %g.site, %s.site
  %g.in = and i1 %g.waits, %g.same
  br i1 %g.in, label %gather.take, label %gather.next
gather.take:
  store i32 0, i32* %g.state.p
  %g.own.p = getelementptr %spk.thread, %spk.thread* %g.t, i64 0, i32 3
  %g.own = load i8*, i8** %g.own.p
  store i8* %g.own, i8** %g.slot.p
  %g.fn.p = getelementptr %spk.thread, %spk.thread* %g.t, i64 0, i32 4
  %g.fn.own = load i8*, i8** %g.fn.p
  %g.bit = shl i32 1, %g.lane
  %g.mask.in = or i32 %g.mask, %g.bit
  br label %gather.next
gather.next:
  %g.mask.out = phi i32 [ %g.mask, %gather.lane ], [ %g.mask, %gather.look ], [ %g.mask.in, %gather.take ]
  %g.fn.out = phi i8* [ %g.fn, %gather.lane ], [ %g.fn, %gather.look ], [ %g.fn.own, %gather.take ]
  %g.next = add i32 %g.lane, 1
  br label %gather
resolve:
  %ops = load i64, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 16)
  %ops.next = add i64 %ops, 1
  store i64 %ops.next, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 16)
  %fn = bitcast i8* %g.fn to i32 (i8**, i32)*
  %wrong = call i32 %fn(i8** %slots.0, i32 %g.mask)
  %is.wrong = icmp ne i32 %wrong, 0
  br i1 %is.wrong, label %incomplete, label %resolved
incomplete:
  %mask.w = zext i32 %g.mask to i64
  call void @spk.record(i32 %wrong, i32 %base, i32 %s.site, i64 %mask.w, i64 0)
  br label %failed
resolved:
  br label %run
failed:
  ret i32 2
}

; --- one threadgroup: 0 finished, 1 fault

define internal i32 @spk.group() nounwind {
entry:
  %count = load i32, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 8)
  %threads = load %spk.thread*, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 0)
  br label %round
round:
  %idle = phi i32 [ 0, %entry ], [ %idle.next, %spun ], [ 0, %opened ]
  store i32 0, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 18)
  br label %simd
simd:
  %base = phi i32 [ 0, %round ], [ %base.next, %simd.next ]
  %yields = phi i32 [ 0, %round ], [ %yields.next, %simd.next ]
  %in = icmp ult i32 %base, %count
  br i1 %in, label %simd.run, label %simd.end
simd.run:
  %rc = call i32 @spk.simdgroup(i32 %base, i32 %count)
  %bad = icmp eq i32 %rc, 2
  br i1 %bad, label %failed, label %simd.next
simd.next:
  %yields.next = or i32 %yields, %rc
  %base.next = add i32 %base, 32
  br label %simd
simd.end:
  %any = icmp ne i32 %yields, 0
  br i1 %any, label %spun, label %barrier

spun:                                             ; nothing but atomic reads that see no change: a deadlock
  %progress = load i32, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 18)
  %moved = icmp ne i32 %progress, 0
  %idle.more = add i32 %idle, 1
  %idle.next = select i1 %moved, i32 0, i32 %idle.more
  %stop = load volatile i32, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 9)
  %stopped = icmp ne i32 %stop, 0
  %stuck = icmp ugt i32 %idle.next, 10000
  %give.up = or i1 %stuck, %stopped
  br i1 %give.up, label %deadlock, label %round
deadlock:
  %why = select i1 %stuck, i32 3, i32 4
  call void @spk.record(i32 %why, i32 0, i32 0, i64 0, i64 0)
  br label %failed

barrier:                                          ; every simdgroup waits at a barrier or has finished
  %b.i = phi i32 [ 0, %simd.end ], [ %b.next, %barrier.next ]
  %b.waiting = phi i32 [ 0, %simd.end ], [ %b.waiting.out, %barrier.next ]
  %b.site = phi i32 [ 0, %simd.end ], [ %b.site.out, %barrier.next ]
  %b.more = icmp ult i32 %b.i, %count
  br i1 %b.more, label %barrier.look, label %barrier.end
barrier.look:
  %b.t = getelementptr %spk.thread, %spk.thread* %threads, i32 %b.i
  %b.state.p = getelementptr %spk.thread, %spk.thread* %b.t, i64 0, i32 1
  %b.state = load i32, i32* %b.state.p
  %b.waits = icmp eq i32 %b.state, 2
  br i1 %b.waits, label %barrier.one, label %barrier.next
barrier.one:
  store i32 0, i32* %b.state.p
  %b.own.p = getelementptr %spk.thread, %spk.thread* %b.t, i64 0, i32 2
  %b.own = load i32, i32* %b.own.p
  %b.count = add i32 %b.waiting, 1
  %b.first = icmp eq i32 %b.waiting, 0
  %b.same = icmp eq i32 %b.own, %b.site
  %b.fine = or i1 %b.first, %b.same
  br i1 %b.fine, label %barrier.next, label %diverged
diverged:
  %site.a = zext i32 %b.site to i64
  call void @spk.record(i32 2, i32 %b.i, i32 %b.own, i64 %site.a, i64 0)
  br label %failed
barrier.next:
  %b.waiting.out = phi i32 [ %b.waiting, %barrier.look ], [ %b.count, %barrier.one ]
  %b.site.out = phi i32 [ %b.site, %barrier.look ], [ %b.own, %barrier.one ]
  %b.next = add i32 %b.i, 1
  br label %barrier
barrier.end:
  %done = icmp eq i32 %b.waiting, 0
  br i1 %done, label %finished, label %open
open:
  %passed = load i64, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 15)
  %passed.next = add i64 %passed, 1
  store i64 %passed.next, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 15)
  %all = icmp eq i32 %b.waiting, %count
  br i1 %all, label %opened, label %missed
missed:
  %misses = load i64, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 17)
  %misses.next = add i64 %misses, 1
  store i64 %misses.next, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 17)
  br label %opened
opened:
  br label %round
finished:
  ret i32 0
failed:
  ret i32 1
}

; --- a run of threadgroups, by linear index

define internal i32 @spk.least(i32 %a, i32 %b) alwaysinline nounwind {
  %less = icmp ult i32 %a, %b
  %least = select i1 %less, i32 %a, i32 %b
  ret i32 %least
}

; Size of the threadgroup along one axis: smaller at the edge of the grid. Returns it and stores the position.
define internal i32 @spk.axis(i64 %axis, i32 %position) alwaysinline nounwind {
  %position.p = getelementptr %spk.control.type, %spk.control.type* @spk.control, i64 0, i32 6, i64 %axis
  store i32 %position, i32* %position.p
  %size.p = getelementptr %spk.control.type, %spk.control.type* @spk.control, i64 0, i32 3, i64 %axis
  %size = load i32, i32* %size.p
  %total.p = getelementptr %spk.control.type, %spk.control.type* @spk.control, i64 0, i32 5, i64 %axis
  %total = load i32, i32* %total.p
  %start = mul i32 %position, %size
  %left = sub i32 %total, %start
  %extent = call i32 @spk.least(i32 %size, i32 %left)
  %extent.p = getelementptr %spk.control.type, %spk.control.type* @spk.control, i64 0, i32 7, i64 %axis
  store i32 %extent, i32* %extent.p
  ret i32 %extent
}

define internal void @spk.place(i32 %group) nounwind {
entry:
  %gx = load i32, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 4, i64 0)
  %gy = load i32, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 4, i64 1)
  %px = urem i32 %group, %gx
  %rest = udiv i32 %group, %gx
  %py = urem i32 %rest, %gy
  %pz = udiv i32 %rest, %gy
  %ex = call i32 @spk.axis(i64 0, i32 %px)
  %ey = call i32 @spk.axis(i64 1, i32 %py)
  %ez = call i32 @spk.axis(i64 2, i32 %pz)
  %exy = mul i32 %ex, %ey
  %count = mul i32 %exy, %ez
  store i32 %count, i32* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 8)
  %threads = load %spk.thread*, %spk.thread** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 0)
  %stacks = load i8*, i8** getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 1)
  %bytes = load i64, i64* getelementptr (%spk.control.type, %spk.control.type* @spk.control, i64 0, i32 2)
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %one ]
  %more = icmp ult i32 %i, %count
  br i1 %more, label %one, label %done
one:
  %t = getelementptr %spk.thread, %spk.thread* %threads, i32 %i
  %x = urem i32 %i, %ex
  %i.rest = udiv i32 %i, %ex
  %y = urem i32 %i.rest, %ey
  %z = udiv i32 %i.rest, %ey
  %x.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 6, i64 0
  store i32 %x, i32* %x.p
  %y.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 6, i64 1
  store i32 %y, i32* %y.p
  %z.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 6, i64 2
  store i32 %z, i32* %z.p
  %index.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 5
  store i32 %i, i32* %index.p
  %atomics.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 7
  store i32 0, i32* %atomics.p
  %state.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 1
  store i32 0, i32* %state.p
  %i.w = zext i32 %i to i64
  %low.o = mul i64 %i.w, %bytes
  %low = getelementptr i8, i8* %stacks, i64 %low.o
  %low.w = bitcast i8* %low to i8**
  store i8* %low, i8** %low.w
  %low.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 8
  store i8* %low, i8** %low.p
  %high = getelementptr i8, i8* %low, i64 %bytes
  %high.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 9
  store i8* %high, i8** %high.p
  %sp = call i8* @spk.prepare(i8* %high, i8* bitcast (void ()* @spk.entry to i8*))
  %sp.p = getelementptr %spk.thread, %spk.thread* %t, i64 0, i32 0
  store i8* %sp, i8** %sp.p
  %next = add i32 %i, 1
  br label %head
done:
  ret void
}

; Runs threadgroups first … last - 1. Returns how many finished; fewer than asked for means a fault was recorded.
define i32 @spk.run(i32 %first, i32 %last) nounwind {
entry:
  br label %head
head:
  %g = phi i32 [ %first, %entry ], [ %next, %ok ]
  %more = icmp ult i32 %g, %last
  br i1 %more, label %body, label %done
body:
  call void @spk.place(i32 %g)
  call void @spk.poison()
  %rc = call i32 @spk.group()
  %fine = icmp eq i32 %rc, 0
  br i1 %fine, label %ok, label %done
ok:
  %next = add i32 %g, 1
  br label %head
done:
  %ran = sub i32 %g, %first
  ret i32 %ran
}
