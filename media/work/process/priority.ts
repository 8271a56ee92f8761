import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** The time limit of a command that takes a few milliseconds. */
const COMMAND_MS = 2_000

/**
 * Lowers the priority of this process, its existing threads and its future children. At the lowest priority they also leave
 * one processor to other processes.
 */
export function lowerPriority(niceness: number): void {
  setPriority(niceness)
  if (process.platform !== 'linux') return
  // On Linux, priorities belong to threads, and V8 has already started some.
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      setPriority(Number(thread), niceness)
    } catch {
      // The thread has just ended.
    }
  }
  lowerGroupPriority(niceness, 50)
  if (niceness !== constants.priority.PRIORITY_LOW) return
  runWhenIdle()
  leaveOneProcessor()
}

/**
 * Moves this process, its threads and its future children to the policy SCHED_IDLE. A niceness alone lets a thread that
 * runs finish its time slice before it is preempted. Without `chrt` (util-linux) the niceness remains.
 */
function runWhenIdle(): void {
  spawnSync('chrt', ['-a', '-i', '-p', '0', String(process.pid)], { stdio: 'ignore', timeout: COMMAND_MS })
}

/**
 * Leaves the first processor to others, if there are several. Many kernels preempt a thread only at the next tick, up to 4 ms
 * after a process with a higher priority has woken up on its processor: those without preemption, and Linux 6.13 and later
 * with lazy preemption. `npm run bench:media` and `bench:studio` measure the effect. Without `taskset` (util-linux) all
 * processors are used.
 */
function leaveOneProcessor(): void {
  const processors = processorsIn(
    /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '',
  )
  if (processors.length < 2) return
  const list = processors.slice(1).join(',')
  spawnSync('taskset', ['-a', '-c', '-p', list, String(process.pid)], { stdio: 'ignore', timeout: COMMAND_MS })
}

/** The processors of a list in the format of cpuset(7), such as `0-3,8`. */
export function processorsIn(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [first = '', last = first] = part.split('-')
    return first === '' ? [] : Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at)
  })
}

/** Lowers the priority of the scheduler group (autogroup) of this session. Thread priorities count only within the group. */
function lowerGroupPriority(niceness: number, tries: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(niceness))
  } catch (error) {
    // Without root, the kernel accepts one such write per 0.1 s on the whole machine. Other errors mean a kernel without
    // these groups, or a container that may not set them.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || tries === 0) return
    setTimeout(() => lowerGroupPriority(niceness, tries - 1), 100 + Math.random() * 100).unref()
  }
}
