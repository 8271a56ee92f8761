import type { MediaLog } from '../../types.ts'
import type { MediaWorkErrorCode } from '../errors.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { TranscodeSpec } from '../transcode/spec.ts'
import type {
  PreviewResult,
  ProbeResult,
  Progress,
  ThumbnailOptions,
  ThumbnailResult,
  TranscodeResult,
} from '../types.ts'

/** What a work process is started with. */
export interface WorkSettings {
  readonly ffmpegPath: string | undefined
  readonly ffprobePath: string | undefined
  readonly limits: MediaWorkLimits
  readonly niceness: number
  /** Of its lane; removed with everything around it when the host is gone. */
  readonly scratchRoot: string
}

/** What can be asked for, and what comes of it. */
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
}

export type TaskKind = keyof Tasks
export type Task = { [Kind in TaskKind]: { readonly kind: Kind } & Tasks[Kind]['input'] }[TaskKind]

/** From the host to a work process. */
export type HostMessage =
  | { readonly type: 'start'; readonly settings: WorkSettings }
  | { readonly type: 'run'; readonly id: number; readonly task: Task; readonly scratch: string }
  | { readonly type: 'cancel'; readonly id: number; readonly code: MediaWorkErrorCode; readonly message: string }
  /** Answered with `pong` as long as the event loop turns. */
  | { readonly type: 'ping' }

/** From a work process to its host. A job is done or failed once nothing of it runs any more. */
export type WorkMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'progress'; readonly id: number; readonly progress: Progress }
  | { readonly type: 'done'; readonly id: number; readonly result: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly code: MediaWorkErrorCode; readonly message: string }
  | { readonly type: 'log'; readonly level: keyof MediaLog; readonly fields: object; readonly message: string }
