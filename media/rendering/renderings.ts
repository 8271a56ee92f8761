import type { RelayLimits } from '../relay/limits.ts'
import type { Source } from '../relay/source.ts'
import type { MediaLog, Rendering, RenderingStatus } from '../types.ts'
import type { FfmpegProgram } from '../whip/transcode/ffmpeg-args.ts'
import { DelayLine } from './delay-line.ts'
import { Transcode, type TranscodeSlots } from './transcode.ts'

export interface RenderingsOptions {
  readonly source: Source
  readonly limits: Pick<RelayLimits, 'group' | 'queue'>
  readonly ffmpeg: FfmpegProgram | undefined
  readonly slots: TranscodeSlots
  readonly log: MediaLog
}

/** The renderings of a stream. Destinations that want the same one share it. */
export class Renderings {
  readonly #options: RenderingsOptions
  readonly #transcodes = new Map<string, Transcode>()
  readonly #delays = new Map<string, DelayLine>()
  #running = false

  constructor(options: RenderingsOptions) {
    this.#options = options
  }

  /** Keeps exactly these renderings. */
  want(renderings: readonly (Rendering | undefined)[]): void {
    const wanted = renderings.filter((one) => one !== undefined)
    drop(this.#delays, new Set(wanted.map(delayKey)))
    drop(this.#transcodes, new Set(wanted.map(transcodeKey)))
    for (const rendering of wanted) this.sourceOf(rendering)
  }

  /** The source of a destination: the stream itself when it has no rendering. */
  sourceOf(rendering: Rendering | undefined): Source {
    if (rendering === undefined) return this.#options.source
    const from = this.#transcoded(rendering)
    const { delayMs = 0 } = rendering
    if (delayMs <= 0) return from
    const key = delayKey(rendering)
    const line = this.#delays.get(key) ?? new DelayLine(from, delayMs, this.#options.limits.group)
    this.#delays.set(key, line)
    return line.source
  }

  /** Null when the rendering needs no encoder. */
  statusOf(rendering: Rendering | undefined): RenderingStatus | null {
    return (rendering && this.#transcodes.get(transcodeKey(rendering))?.status()) ?? null
  }

  /** Runs encoders only while media is sent to destinations. */
  run(running: boolean): void {
    this.#running = running
    for (const transcode of this.#transcodes.values()) transcode.run(running)
  }

  /** Another publisher feeds the stream from now on. */
  switched(now: number): void {
    for (const transcode of this.#transcodes.values()) transcode.switched(now)
  }

  tick(now: number): void {
    for (const transcode of this.#transcodes.values()) transcode.tick(now)
  }

  close(): void {
    this.want([])
  }

  #transcoded(rendering: Rendering): Source {
    const { source: from, ...options } = this.#options
    const key = transcodeKey(rendering)
    if (key === AS_IT_IS) return from
    let transcode = this.#transcodes.get(key)
    if (transcode === undefined) {
      transcode = new Transcode({ ...options, from, rendering })
      this.#transcodes.set(key, transcode)
      transcode.run(this.#running)
    }
    return transcode.source
  }
}

const AS_IT_IS = '-'

/** Whether a rendering needs an encoder. */
export function isTranscoded(rendering: Rendering | undefined): boolean {
  return rendering !== undefined && transcodeKey(rendering) !== AS_IT_IS
}

function transcodeKey({ crop, maxBitrate }: Rendering): string {
  return `${crop ?? ''}-${maxBitrate ?? ''}`
}

function delayKey(rendering: Rendering): string {
  return `${transcodeKey(rendering)} ${rendering.delayMs ?? 0}`
}

function drop(map: Map<string, { close(): void }>, wanted: ReadonlySet<string>): void {
  for (const [key, one] of map) {
    if (wanted.has(key)) continue
    one.close()
    map.delete(key)
  }
}
