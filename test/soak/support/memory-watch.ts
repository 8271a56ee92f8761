import { processTree, residentBytes } from '../../bench/support/process.ts'

const EVERY_MS = 250

/** The resident memory of a process and its descendants, in bytes. Shared pages count for each process. */
export function treeBytes(pid: number): number {
  return processTree(pid).reduce((sum, one) => {
    try {
      return sum + residentBytes(one)
    } catch {
      // The process has exited meanwhile.
      return sum
    }
  }, 0)
}

/** Measures the peak memory of a process and its descendants. */
export class MemoryWatch {
  readonly #pid: number
  readonly #timer: NodeJS.Timeout
  #peak = 0

  constructor(pid: number) {
    this.#pid = pid
    this.#look()
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
  }

  /** Stops measuring. @returns the peak in bytes */
  stop(): number {
    clearInterval(this.#timer)
    this.#look()
    return this.#peak
  }

  #look(): void {
    this.#peak = Math.max(this.#peak, treeBytes(this.#pid))
  }
}
