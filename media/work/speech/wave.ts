import type { FileHandle } from 'node:fs/promises'
import type { Span } from './pauses.ts'

/** Samples of mono sound per second, which is what speech recognizers work on. */
export const SAMPLE_RATE = 16_000
const BYTES = 2
/** The loudness is compared in steps of 20 ms, each averaged over 200 ms. */
const STEP = SAMPLE_RATE / 50
const AVERAGED = 10
const HEADER_BYTES = 4_096

/** A WAV file of 16-bit mono sound at `SAMPLE_RATE` that ffmpeg has written. */
export interface Wave {
  readonly file: FileHandle
  /** Where the samples begin. */
  readonly offset: number
  readonly seconds: number
}

/** @throws Error if it is not such a file */
export async function openWave(file: FileHandle): Promise<Wave> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
  const at = buffer.subarray(0, bytesRead).indexOf('data', 12, 'latin1')
  if (at < 0) throw new Error('ffmpeg has written a WAV file without samples')
  const offset = at + 8
  const { size } = await file.stat()
  return { file, offset, seconds: Math.floor((size - offset) / BYTES) / SAMPLE_RATE }
}

/** The quietest moment of a window, in seconds. The first one of several. */
export async function quietestMoment({ file, offset }: Wave, { end, start }: Span): Promise<number> {
  const first = Math.floor(start * SAMPLE_RATE)
  const count = Math.floor((end - start) * SAMPLE_RATE)
  const bytes = Buffer.alloc(count * BYTES)
  const { bytesRead } = await file.read(bytes, 0, bytes.length, offset + first * BYTES)
  const energies: number[] = []
  for (let step = 0; (step + 1) * STEP * BYTES <= bytesRead; step += 1) {
    let sum = 0
    for (let index = step * STEP; index < (step + 1) * STEP; index += 1) sum += bytes.readInt16LE(index * BYTES) ** 2
    energies.push(sum)
  }
  let quietest = { energy: Infinity, at: energies.length / 2 }
  for (let step = 0; step + AVERAGED <= energies.length; step += 1) {
    const energy = energies.slice(step, step + AVERAGED).reduce((sum, one) => sum + one, 0)
    if (energy < quietest.energy) quietest = { energy, at: step + AVERAGED / 2 }
  }
  return (first + quietest.at * STEP) / SAMPLE_RATE
}
