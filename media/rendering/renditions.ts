import type { RelayLimits } from '../relay/limits.ts'
import type { Source } from '../relay/source.ts'
import type { MediaLog, Rendering, RenderingStatus } from '../types.ts'
import type { FfmpegProgram } from '../whip/transcode/ffmpeg-args.ts'
import { DelayLine } from './delay-line.ts'
import { Transcode, type TranscodeSlots } from './transcode.ts'

export interface RenditionsOptions {
  readonly source: Source
  readonly limits: Pick<RelayLimits, 'group' | 'queue'>
  readonly ffmpeg: FfmpegProgram | undefined
  readonly slots: TranscodeSlots
  readonly log: MediaLog
}

/** The other forms in which destinations want a stream: one of each, for all who want the same. */
export class Renditions {
  readonly #options: RenditionsOptions
  readonly #transcodes = new Map<string, Transcode>()
  readonly #delays = new Map<string, DelayLine>()
  #running = false

  constructor(options: RenditionsOptions) {
    this.#options = options
  }

  /** Has these forms ready, and no others. */
  want(renderings: readonly (Rendering | undefined)[]): void {
    const wanted = renderings.filter((one) => one !== undefined)
    drop(this.#delays, new Set(wanted.map(delayKey)))
    drop(this.#transcodes, new Set(wanted.map(transcodeKey)))
    for (const rendering of wanted) this.sourceOf(rendering)
  }

  /** The source for a destination: the stream as it comes, where it wants nothing else. */
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

  /** Null where nothing is encoded anew. */
  statusOf(rendering: Rendering | undefined): RenderingStatus | null {
    return (rendering && this.#transcodes.get(transcodeKey(rendering))?.status()) ?? null
  }

  /** Whether media goes out: nothing is rendered for nobody. */
  run(running: boolean): void {
    this.#running = running
    for (const transcode of this.#transcodes.values()) transcode.run(running)
  }

  /** Another publisher sends from here on. */
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

/** Whether pictures are encoded anew for it. */
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
