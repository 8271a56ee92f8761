import { open, type FileHandle } from 'node:fs/promises'
import { PlayoutError } from './errors.ts'

/** Read at once. Pictures and sound lie beside each other, so that one piece mostly serves both. */
const PIECE_BYTES = 512 * 1024

interface Piece {
  readonly start: number
  readonly bytes: Buffer
}

/** Parts of a file, read in large pieces: as many as a movie has places that it is read at, one for each track. */
export class FileWindow {
  readonly #handle: FileHandle
  #pieces: Piece[] = []

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  static async open(path: string): Promise<FileWindow> {
    return new FileWindow(await open(path))
  }

  /** Copies a part of the file. @throws PlayoutError when the file has become shorter */
  async copy(position: number, length: number, into: Buffer, at: number): Promise<void> {
    const piece = this.#find(position, length) ?? (await this.#read(position, length))
    piece.bytes.copy(into, at, position - piece.start, position - piece.start + length)
  }

  async close(): Promise<void> {
    this.#pieces = []
    await this.#handle.close()
  }

  #find(position: number, length: number): Piece | undefined {
    return this.#pieces.find(({ bytes, start }) => position >= start && position + length <= start + bytes.length)
  }

  async #read(position: number, length: number): Promise<Piece> {
    const bytes = Buffer.allocUnsafe(Math.max(PIECE_BYTES, length))
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, position)
    if (bytesRead < length) throw new PlayoutError('The file ends too early.')
    const piece = { start: position, bytes: bytes.subarray(0, bytesRead) }
    this.#pieces = [piece, ...this.#pieces].slice(0, 2)
    return piece
  }
}
