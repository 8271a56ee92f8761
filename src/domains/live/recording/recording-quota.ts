import { createHash } from 'node:crypto'
import { StorageLimit, type Quota } from '../../media/assets/index.ts'
import { AppError } from '../../../core/error.ts'

/** How much storage is reserved in advance, and how much must be available to continue; bytes. */
const AHEAD = 32 * 1024 * 1024
const MIN = 2 * 1024 * 1024

/** Storage of the plan that is reserved for the recordings of a session, so that they stop before it is used up. */
export class RecordingQuota {
  readonly #quota: Quota
  readonly workspaceId: string
  readonly #id: string
  /** Sizes of files that are not assets yet. */
  readonly #files = new Map<string, number>()
  #reserved = 0
  #growing: Promise<boolean> | undefined

  constructor(quota: Quota, workspaceId: string, sessionId: string) {
    this.#quota = quota
    this.workspaceId = workspaceId
    // The same id after a restart, so that storage is not reserved twice.
    const hex = createHash('sha256').update(`recording ${sessionId}`).digest('hex')
    this.#id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
  }

  get isEmpty(): boolean {
    return this.#files.size === 0
  }

  /** Sets the size of a file. */
  note(file: string, bytes: number): void {
    this.#files.set(file, bytes)
  }

  drop(file: string): void {
    this.#files.delete(file)
  }

  /** Reserves storage for the files and some more. @returns whether the recording can continue */
  async ensure(): Promise<boolean> {
    const needed = [...this.#files.values()].reduce((sum, bytes) => sum + bytes, 0)
    if (needed + AHEAD / 4 <= this.#reserved) return true
    this.#growing ??= this.#grow(needed).finally(() => {
      this.#growing = undefined
    })
    return this.#growing
  }

  async release(): Promise<void> {
    this.#reserved = 0
    await this.#quota.release(this.#id)
  }

  async #grow(needed: number): Promise<boolean> {
    for (const ahead of [AHEAD, MIN]) {
      try {
        await this.#quota.resize(this.workspaceId, this.#id, needed + ahead)
        this.#reserved = needed + ahead
        return true
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== StorageLimit.code) throw error
      }
    }
    // The earlier reservation may still be large enough.
    return needed + MIN / 2 <= this.#reserved
  }
}
