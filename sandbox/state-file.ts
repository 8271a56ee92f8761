import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * The file that keeps the state of a fake. It holds posts and tokens, so only this user may read it. Each write stores the whole state, so all changes during a write share the
 * next one. Otherwise a thousand concurrent posts would cause a thousand writes.
 */
export class StateFile {
  readonly #path: string
  readonly #state: () => unknown
  #writing: Promise<void> | undefined
  /** The write after the one that is under way. */
  #next: Promise<void> | undefined

  constructor(path: string, state: () => unknown) {
    this.#path = path
    this.#state = state
  }

  /** The stored state; undefined if there is none. */
  static async read(path: string): Promise<unknown> {
    try {
      return JSON.parse(await readFile(path, 'utf8')) as unknown
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Resolves when the state as it is now is stored. */
  save(): Promise<void> {
    if (this.#writing === undefined) return this.#begin()
    this.#next ??= this.#writing.catch(() => undefined).then(() => this.#begin())
    return this.#next
  }

  #begin(): Promise<void> {
    this.#next = undefined
    this.#writing = this.#write().finally(() => (this.#writing = undefined))
    return this.#writing
  }

  /** Replaces the file in one step, so that a killed process leaves either the old or the new state. */
  async #write(): Promise<void> {
    const text = JSON.stringify(this.#state())
    const fresh = `${this.#path}.new`
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    // A killed process may have left one, whose mode a write would keep.
    await rm(fresh, { force: true })
    await writeFile(fresh, text, { mode: 0o600 })
    await rename(fresh, this.#path)
  }
}
