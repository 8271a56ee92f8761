import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const hasProc = existsSync('/proc/self/stat')

/**
 * Identifies a running process, to distinguish it from a later process with the same pid: its start time and, on Linux,
 * the boot id. Use the text only to compare.
 *
 * @returns undefined when no such process runs; a zombie does not count as running
 */
export function processIdentity(pid: number): string | undefined {
  return hasProc ? identityFromProc(pid) : identityFromPs(pid)
}

/** The command line of a running process, with arguments separated by spaces; undefined when no such process runs. */
export function processCommand(pid: number): string | undefined {
  if (!hasProc) return ps(pid, 'command=')
  return readProc(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim()
}

// proc(5): fields of stat are counted from 1, and the second one, the name in parentheses, may contain spaces.
function identityFromProc(pid: number): string | undefined {
  const stat = readProc(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTime] = [fields[0], fields[22 - 3]]
  if (state === 'Z' || state === 'X') return undefined
  const boot = readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
  return `${boot}/${startTime}`
}

const identityFromPs = (pid: number): string | undefined => ps(pid, 'lstart=')

function ps(pid: number, format: string): string | undefined {
  const { status, stdout } = spawnSync('ps', ['-o', format, '-p', String(pid)], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    // ESRCH: the process ended between opening and reading the file.
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}
