import { processTree, residentBytes } from '../../bench/support/process.ts'

const EVERY_MS = 250

/** Resident memory of a process and of the processes that it started, bytes. Pages that they share count for each. */
export function treeBytes(pid: number): number {
  return processTree(pid).reduce((sum, one) => {
    try {
      return sum + residentBytes(one)
    } catch {
      // It ended meanwhile.
      return sum
    }
  }, 0)
}

/** Watches how much memory a process and those that it started have at most. */
export class MemoryWatch {
  readonly #pid: number
  readonly #timer: NodeJS.Timeout
  #peak = 0

  constructor(pid: number) {
    this.#pid = pid
    this.#look()
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
  }

  /** Ends the watch. @returns the most bytes that were seen */
  stop(): number {
    clearInterval(this.#timer)
    this.#look()
    return this.#peak
  }

  #look(): void {
    this.#peak = Math.max(this.#peak, treeBytes(this.#pid))
  }
}
