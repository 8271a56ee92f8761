import type { MediaLog } from '../../types.ts'
import type { MediaWorkErrorCode } from '../errors.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { RenderOrder, RenderedScene } from '../studio/scene.ts'
import type { TranscodeSpec } from '../transcode/spec.ts'
import type {
  PreviewResult,
  ProbeResult,
  Progress,
  SpeechResult,
  SubtitleResult,
  ThumbnailOptions,
  ThumbnailResult,
  TranscodeResult,
} from '../types.ts'

/** The settings of a work process. */
export interface WorkSettings {
  readonly ffmpegPath: string | undefined
  readonly ffprobePath: string | undefined
  readonly limits: MediaWorkLimits
  readonly niceness: number
  /** The folder of its lane. When the host is gone, its parent is deleted. */
  readonly scratchRoot: string
}

/** The input and result of each kind of job. */
export interface Tasks {
  probe: { input: { path: string }; result: ProbeResult }
  thumbnails: {
    input: { path: string; outputDir: string; options: Pick<ThumbnailOptions, 'sizes' | 'format' | 'probed'> }
    result: ThumbnailResult
  }
  transcode: {
    input: { path: string; output: string; spec: TranscodeSpec; probed: ProbeResult | undefined }
    result: TranscodeResult
  }
  preview: { input: { path: string; outputDir: string; probed: ProbeResult | undefined }; result: PreviewResult }
  speech: {
    input: { path: string; outputDir: string; maxSeconds: number; probed: ProbeResult | undefined }
    result: SpeechResult
  }
  subtitles: { input: { path: string; language: string | undefined }; result: SubtitleResult | null }
  render: { input: { path: string; outputDir: string; order: RenderOrder }; result: RenderedScene }
}

export type TaskKind = keyof Tasks
export type Task = { [Kind in TaskKind]: { readonly kind: Kind } & Tasks[Kind]['input'] }[TaskKind]

/** Messages from the host to a work process. */
export type HostMessage =
  | { readonly type: 'start'; readonly settings: WorkSettings }
  | { readonly type: 'run'; readonly id: number; readonly task: Task; readonly scratch: string }
  | { readonly type: 'cancel'; readonly id: number; readonly code: MediaWorkErrorCode; readonly message: string }
  /** A responsive process replies with `pong`. */
  | { readonly type: 'ping' }

/** Messages from a work process to its host. `done` and `failed` are sent after the job has stopped completely. */
export type WorkMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'progress'; readonly id: number; readonly progress: Progress }
  | { readonly type: 'done'; readonly id: number; readonly result: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly code: MediaWorkErrorCode; readonly message: string }
  | { readonly type: 'log'; readonly level: keyof MediaLog; readonly fields: object; readonly message: string }
