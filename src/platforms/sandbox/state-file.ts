import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * The file that keeps the state of a fake. Each write stores the whole state, so all changes during a write share the
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
    await mkdir(dirname(this.#path), { recursive: true })
    await writeFile(`${this.#path}.new`, text)
    await rename(`${this.#path}.new`, this.#path)
  }
}
