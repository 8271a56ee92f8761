import { createHash } from 'node:crypto'
import { StorageLimit, type Quota } from '../../media/assets/index.ts'
import { AppError } from '../../../core/error.ts'

/** Room that is held ahead of a recording, and what must be there for it to go on; bytes. */
const AHEAD = 32 * 1024 * 1024
const LEAST = 2 * 1024 * 1024

/** Room in the plan for one broadcast's recordings, held ahead of them so that they end before it does. */
export class RecordingRoom {
  readonly #quota: Quota
  readonly workspaceId: string
  readonly #id: string
  /** Bytes of files that are no assets yet. */
  readonly #files = new Map<string, number>()
  #held = 0
  #growing: Promise<boolean> | undefined

  constructor(quota: Quota, workspaceId: string, sessionId: string) {
    this.#quota = quota
    this.workspaceId = workspaceId
    // The same after a restart: what was held before is held on, not twice.
    const hex = createHash('sha256').update(`recording ${sessionId}`).digest('hex')
    this.#id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
  }

  get isEmpty(): boolean {
    return this.#files.size === 0
  }

  /** Notes how long a file is. */
  note(file: string, bytes: number): void {
    this.#files.set(file, bytes)
  }

  drop(file: string): void {
    this.#files.delete(file)
  }

  /** Holds what is recorded and some more. @returns whether there is room to go on */
  async ensure(): Promise<boolean> {
    const needed = [...this.#files.values()].reduce((sum, bytes) => sum + bytes, 0)
    if (needed + AHEAD / 4 <= this.#held) return true
    this.#growing ??= this.#grow(needed).finally(() => {
      this.#growing = undefined
    })
    return this.#growing
  }

  async release(): Promise<void> {
    this.#held = 0
    await this.#quota.release(this.#id)
  }

  async #grow(needed: number): Promise<boolean> {
    for (const ahead of [AHEAD, LEAST]) {
      try {
        await this.#quota.resize(this.workspaceId, this.#id, needed + ahead)
        this.#held = needed + ahead
        return true
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== StorageLimit.code) throw error
      }
    }
    // What was held before may still have room.
    return needed + LEAST / 2 <= this.#held
  }
}
