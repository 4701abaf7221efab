"""Threads that wait for chunks, as machine code: no Python runs in them.

One call at a time hands out its chunks; a second one that comes meanwhile computes its own alone.
Which thread computes a chunk is a matter of chance, what it computes is not.
"""

from __future__ import annotations

# Where things stand in the memory of the pool; each by itself in a line of the cache, since threads
# wait for them.  Locks of every known system fit into 256 bytes.
MUTEX, WORK, FINISHED = 0, 256, 512  # a lock, and two conditions to wait for
BUSY, NEXT, INSIDE, JOBS = 768, 832, 896, 960  # a call; a chunk; threads; calls so far
FUNCTION, TABLE, LOCAL_MEMORY, LOCAL_BYTES, COUNT = 1024, 1032, 1040, 1048, 1056  # of the call
STOP, THREADS = 1088, 1152
BYTES = 1216

SPINS = 4000  # looks at the memory before a thread goes to sleep: some 20 µs

_JOB = "ptr %function, ptr %table, ptr %local, i64 %bytes, i64 %count"

# All chunks by one thread, one after the other.
_EACH = """\
each:
  %chunk = phi i64 [ 0, %{before} ], [ %after, %each ]
  call void %function(ptr %table, ptr %local, i64 %chunk)
  %after = add i64 %chunk, 1
  %more = icmp slt i64 %after, %count
  br i1 %more, label %each, label %return"""


def pool_text(pause: str) -> str:
    """The module of the pool; `pause` is the instruction of this processor for one who waits."""
    fields = {
        name: f"getelementptr (i8, ptr @cr_pool, i64 {offset})"
        for name, offset in {
            "mutex": MUTEX, "work": WORK, "finished": FINISHED, "busy": BUSY, "next": NEXT,
            "inside": INSIDE, "jobs": JOBS, "function": FUNCTION, "table": TABLE,
            "local": LOCAL_MEMORY, "bytes": LOCAL_BYTES, "count": COUNT, "stop": STOP,
            "threads": THREADS,
        }.items()
    }  # fmt: skip
    return TEXT.format(
        **fields, job=_JOB, each=_EACH.format(before="alone"), spins=SPINS, pause=pause
    )


ALONE = f"""
define void @cr_parallel({_JOB}) nounwind {{
entry:
  br label %each
{_EACH.format(before="entry")}
return:
  ret void
}}
"""  # where the system has no such threads

TEXT = """
@cr_pool = external global i8
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
{pause}

; Chunks of the call at hand, until none is left.
define internal void @chunks(ptr %function, ptr %table, ptr %local, i64 %count) nounwind {{
entry:
  br label %take
take:
  %chunk = atomicrmw add ptr {next}, i64 1 seq_cst
  %left = icmp slt i64 %chunk, %count
  br i1 %left, label %compute, label %done
compute:
  call void %function(ptr %table, ptr %local, i64 %chunk)
  br label %take
done:
  ret void
}}

define void @cr_parallel({job}) nounwind {{
entry:
  %threads = load atomic i64, ptr {threads} acquire, align 8
  %some = icmp sgt i64 %threads, 0
  br i1 %some, label %ask, label %alone
ask:
  %asked = cmpxchg ptr {busy}, i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %asked, 1
  br i1 %mine, label %post, label %alone
alone:
  br label %each
{each}
post:
  %l0 = call i32 @pthread_mutex_lock(ptr {mutex})
  store ptr %function, ptr {function}
  store ptr %table, ptr {table}
  store ptr %local, ptr {local}
  store i64 %bytes, ptr {bytes}
  store i64 %count, ptr {count}
  store atomic i64 0, ptr {next} seq_cst, align 8
  %before = atomicrmw add ptr {jobs}, i64 1 seq_cst
  %b0 = call i32 @pthread_cond_broadcast(ptr {work})
  %u0 = call i32 @pthread_mutex_unlock(ptr {mutex})
  call void @chunks(ptr %function, ptr %table, ptr %local, i64 %count)
  ; Nobody joins from now on; those inside are waited for.
  %l1 = call i32 @pthread_mutex_lock(ptr {mutex})
  store ptr null, ptr {function}
  %u1 = call i32 @pthread_mutex_unlock(ptr {mutex})
  br label %spin
spin:
  %spun = phi i64 [ 0, %post ], [ %again, %spinning ]
  %inside = load atomic i64, ptr {inside} seq_cst, align 8
  %none = icmp eq i64 %inside, 0
  br i1 %none, label %free, label %spinning
spinning:
  call void @pause()
  %again = add i64 %spun, 1
  %tired = icmp sgt i64 %again, {spins}
  br i1 %tired, label %sleep, label %spin
sleep:
  %l2 = call i32 @pthread_mutex_lock(ptr {mutex})
  br label %check
check:
  %still = load atomic i64, ptr {inside} seq_cst, align 8
  %over = icmp eq i64 %still, 0
  br i1 %over, label %woken, label %wait
wait:
  %w2 = call i32 @pthread_cond_wait(ptr {finished}, ptr {mutex})
  br label %check
woken:
  %u2 = call i32 @pthread_mutex_unlock(ptr {mutex})
  br label %free
free:
  store atomic i64 0, ptr {busy} seq_cst, align 8
  br label %return
return:
  ret void
}}

; What a thread does: %number is its own, from 1 on.
define ptr @cr_worker(ptr %given) nounwind {{
entry:
  %number = ptrtoint ptr %given to i64
  %start = load atomic i64, ptr {jobs} seq_cst, align 8
  br label %idle
idle:
  %seen = phi i64 [ %start, %entry ], [ %now, %left ], [ %now, %missed ]
  br label %spin
spin:
  %spun = phi i64 [ 0, %idle ], [ %again, %spinning ]
  %jobs = load atomic i64, ptr {jobs} seq_cst, align 8
  %same = icmp eq i64 %jobs, %seen
  br i1 %same, label %spinning, label %rise
spinning:
  call void @pause()
  %again = add i64 %spun, 1
  %tired = icmp sgt i64 %again, {spins}
  br i1 %tired, label %rise, label %spin
rise:
  %l0 = call i32 @pthread_mutex_lock(ptr {mutex})
  br label %check
check:
  %stop = load atomic i64, ptr {stop} seq_cst, align 8
  %ended = icmp ne i64 %stop, 0
  br i1 %ended, label %end, label %look
look:
  %now = load atomic i64, ptr {jobs} seq_cst, align 8
  %nothing = icmp eq i64 %now, %seen
  br i1 %nothing, label %wait, label %join
wait:
  %w0 = call i32 @pthread_cond_wait(ptr {work}, ptr {mutex})
  br label %check
join:
  %function = load ptr, ptr {function}
  %closed = icmp eq ptr %function, null
  br i1 %closed, label %missed, label %enter
missed:
  %u0 = call i32 @pthread_mutex_unlock(ptr {mutex})
  br label %idle
enter:
  %table = load ptr, ptr {table}
  %memory = load ptr, ptr {local}
  %bytes = load i64, ptr {bytes}
  %count = load i64, ptr {count}
  %j0 = atomicrmw add ptr {inside}, i64 1 seq_cst
  %u1 = call i32 @pthread_mutex_unlock(ptr {mutex})
  %offset = mul i64 %number, %bytes
  %local = getelementptr i8, ptr %memory, i64 %offset
  ; There is memory for as many threads as there are chunks.
  %fits = icmp slt i64 %number, %count
  br i1 %fits, label %compute, label %leave
compute:
  call void @chunks(ptr %function, ptr %table, ptr %local, i64 %count)
  br label %leave
leave:
  %l1 = call i32 @pthread_mutex_lock(ptr {mutex})
  %before = atomicrmw sub ptr {inside}, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %tell, label %left
tell:
  %b1 = call i32 @pthread_cond_broadcast(ptr {finished})
  br label %left
left:
  %u2 = call i32 @pthread_mutex_unlock(ptr {mutex})
  br label %idle
end:
  %u3 = call i32 @pthread_mutex_unlock(ptr {mutex})
  ret ptr null
}}
"""
