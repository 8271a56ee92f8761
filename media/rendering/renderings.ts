import type { RelayLimits } from '../relay/limits.ts'
import type { Source } from '../relay/source.ts'
import type { MediaLog, Rendering, RenderingStatus } from '../types.ts'
import type { FfmpegProgram } from '../whip/transcode/ffmpeg-args.ts'
import { DelayLine } from './delay-line.ts'
import { Transcode, type TranscodeSlots } from './transcode.ts'

export interface RenderingsOptions {
  readonly source: Source
  readonly limits: Pick<RelayLimits, 'gop' | 'queue'>
  readonly ffmpeg: FfmpegProgram | undefined
  readonly slots: TranscodeSlots
  readonly log: MediaLog
}

/** The renderings of a stream. Destinations with the same rendering share it. */
export class Renderings {
  readonly #options: RenderingsOptions
  readonly #transcodes = new Map<string, Transcode>()
  readonly #delays = new Map<string, DelayLine>()
  #running = false

  constructor(options: RenderingsOptions) {
    this.#options = options
  }

  /** Sets the renderings that are needed. Others are closed. */
  apply(renderings: readonly (Rendering | undefined)[]): void {
    const needed = renderings.filter((one) => one !== undefined)
    closeUnneeded(this.#delays, new Set(needed.map(delayKey)))
    closeUnneeded(this.#transcodes, new Set(needed.map(transcodeKey)))
    for (const rendering of needed) this.sourceOf(rendering)
  }

  /** The source that a destination with this rendering reads. The stream itself when it has none. */
  sourceOf(rendering: Rendering | undefined): Source {
    if (rendering === undefined) return this.#options.source
    const from = this.#transcoded(rendering)
    const { delayMs = 0 } = rendering
    if (delayMs <= 0) return from
    const key = delayKey(rendering)
    const delayLine = this.#delays.get(key) ?? new DelayLine(from, delayMs, this.#options.limits.gop)
    this.#delays.set(key, delayLine)
    return delayLine.source
  }

  /** Null when the rendering needs no encoder. */
  statusOf(rendering: Rendering | undefined): RenderingStatus | null {
    return (rendering && this.#transcodes.get(transcodeKey(rendering))?.status()) ?? null
  }

  /** Starts or stops the encoders. */
  setRunning(running: boolean): void {
    this.#running = running
    for (const transcode of this.#transcodes.values()) transcode.setRunning(running)
  }

  /** Another publisher feeds the stream from now on. */
  publisherChanged(now: number): void {
    for (const transcode of this.#transcodes.values()) transcode.publisherChanged(now)
  }

  tick(now: number): void {
    for (const transcode of this.#transcodes.values()) transcode.tick(now)
  }

  close(): void {
    this.apply([])
  }

  #transcoded(rendering: Rendering): Source {
    const { source: input, ...options } = this.#options
    const key = transcodeKey(rendering)
    if (key === NO_TRANSCODE) return input
    let transcode = this.#transcodes.get(key)
    if (transcode === undefined) {
      transcode = new Transcode({ ...options, input, rendering })
      this.#transcodes.set(key, transcode)
      transcode.setRunning(this.#running)
    }
    return transcode.source
  }
}

/** The key of a rendering without crop and bitrate limit. */
const NO_TRANSCODE = '-'

/** Whether a rendering needs an encoder. */
export function isTranscoded(rendering: Rendering | undefined): boolean {
  return rendering !== undefined && transcodeKey(rendering) !== NO_TRANSCODE
}

function transcodeKey({ crop, maxBitrate }: Rendering): string {
  return `${crop ?? ''}-${maxBitrate ?? ''}`
}

function delayKey(rendering: Rendering): string {
  return `${transcodeKey(rendering)} ${rendering.delayMs ?? 0}`
}

function closeUnneeded(map: Map<string, { close(): void }>, needed: ReadonlySet<string>): void {
  for (const [key, one] of map) {
    if (needed.has(key)) continue
    one.close()
    map.delete(key)
  }
}
