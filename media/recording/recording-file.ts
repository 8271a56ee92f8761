import { open, type FileHandle } from 'node:fs/promises'
import { durationPatches, fragmentHeader, initSegment, type RecordedSample, type RecordedTrack } from './fmp4.ts'

/** Bytes that may wait for a slow disk. With more, the recording ends. */
const MAX_QUEUED_BYTES = 32 * 1024 * 1024

/** Owner and group only. */
const FILE_MODE = 0o640

/** One file of a recording, written fragment by fragment. It can be played up to the last complete fragment. */
export class RecordingFile {
  readonly path: string
  readonly #init: Buffer
  #writing: Promise<void>
  #handle: FileHandle | undefined
  #failure: Error | undefined
  #sequence = 0
  #position = 0
  #queuedBytes = 0
  #endMs = 0

  constructor(path: string, tracks: readonly RecordedTrack[]) {
    this.path = path
    this.#init = initSegment(tracks)
    this.#writing = this.#open()
  }

  /** Bytes written and queued. */
  get bytes(): number {
    return this.#position + this.#queuedBytes
  }

  get durationMs(): number {
    return this.#endMs
  }

  /** The error that ended writing. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Queues a fragment. */
  add(runs: readonly { readonly track: RecordedTrack; readonly samples: readonly RecordedSample[] }[]): void {
    const present = runs.filter(({ samples }) => samples.length > 0)
    if (present.length === 0 || this.#failure !== undefined) return
    const header = fragmentHeader(++this.#sequence, present)
    const pieces = [header, ...present.flatMap(({ samples }) => samples.map(({ data }) => data))]
    for (const { samples } of present) {
      const last = samples.at(-1)
      if (last !== undefined) this.#endMs = Math.max(this.#endMs, last.decodeTime + last.duration)
    }
    this.#queue(pieces)
  }

  /** Writes the queued fragments and the duration, and closes the file. Never rejects: see {@link failure}. */
  async end(): Promise<void> {
    await this.#writing
    await this.#attempt(async (handle) => {
      for (const { bytes, position } of durationPatches(this.#init, this.#endMs)) {
        await handle.write(bytes, 0, bytes.length, position)
      }
      await handle.datasync()
    })
    await this.#handle?.close().catch(() => {})
  }

  async #open(): Promise<void> {
    try {
      this.#handle = await open(this.path, 'wx', FILE_MODE)
    } catch (error) {
      this.#failure = error as Error
      return
    }
    await this.#write([this.#init])
  }

  #queue(pieces: Buffer[]): void {
    const length = lengthOf(pieces)
    this.#queuedBytes += length
    if (this.#queuedBytes > MAX_QUEUED_BYTES) this.#failure ??= new Error('The disk is too slow for the recording.')
    this.#writing = this.#after(this.#writing, pieces, length)
  }

  async #after(before: Promise<void>, pieces: Buffer[], length: number): Promise<void> {
    await before
    await this.#write(pieces)
    this.#queuedBytes -= length
  }

  #write(pieces: Buffer[]): Promise<void> {
    return this.#attempt(async (handle) => {
      for (let left = pieces; left.length > 0;) {
        const { bytesWritten } = await handle.writev(left, this.#position)
        this.#position += bytesWritten
        left = without(left, bytesWritten)
      }
    })
  }

  async #attempt(work: (handle: FileHandle) => Promise<void>): Promise<void> {
    if (this.#handle === undefined || this.#failure !== undefined) return
    try {
      await work(this.#handle)
    } catch (error) {
      this.#failure = error as Error
    }
  }
}

/** The buffers without their first bytes, which were written. A full disk may write only a part. */
function without(pieces: readonly Buffer[], bytes: number): Buffer[] {
  const left: Buffer[] = []
  for (const piece of pieces) {
    if (bytes < piece.length) left.push(bytes > 0 ? piece.subarray(bytes) : piece)
    bytes = Math.max(0, bytes - piece.length)
  }
  return left
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}
