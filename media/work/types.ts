import type { MediaLog } from '../types.ts'
import type { Suitability } from '../playout/suitability.ts'
import type { MediaWorkLimits } from './limits.ts'
import type { TranscodeSpec } from './transcode/spec.ts'

export interface MediaWorkOptions {
  /** Without one, pictures and PDF still work; video and sound are refused as `unavailable`. */
  readonly ffmpegPath?: string | undefined
  /** Without one, what `ffmpeg -i` prints is read instead. */
  readonly ffprobePath?: string | undefined
  /** An existing folder for intermediate files. */
  readonly tempDir: string
  readonly limits?: Partial<MediaWorkLimits>
  /** How far the processes stand back behind others, 0 to 19; 19 by default. */
  readonly niceness?: number
  readonly log: MediaLog
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Jobs of a higher priority start first; 0 by default. */
  readonly priority?: number
}

export interface ProgressOptions extends CallOptions {
  readonly onProgress?: (progress: Progress) => void
}

export interface SourceOptions {
  /**
   * What `probe` found of this very file, when that is known: it saves a look at it, which costs a tenth of a second. Left
   * aside when the file has another length.
   */
  readonly probed?: ProbeResult | undefined
}

/** How far a transcode is. Steps of about half a second. */
export interface Progress {
  /** 0 to 1. */
  readonly fraction: number
  /** Frames encoded in a second; null for sound. */
  readonly fps: number | null
  /** Seconds that are left at this pace; null as long as there is no telling. */
  readonly etaSeconds: number | null
}

export type HdrTransfer = 'smpte2084' | 'arib-std-b67'

export interface VideoTrack {
  readonly codec: string
  readonly profile: string | null
  /** As shown: after the rotation, and in square pixels. */
  readonly width: number
  readonly height: number
  readonly frameRate: number | null
  readonly bitrate: number | null
  readonly pixelFormat: string | null
  /** Transfer of high dynamic range, by ffmpeg's name: PQ or HLG; null for everything else. */
  readonly hdr: HdrTransfer | null
}

export interface AudioTrack {
  readonly codec: string
  readonly channels: number
  readonly sampleRate: number
  readonly bitrate: number | null
}

/** What a file is. Plain JSON. Lengths in pixels and seconds, rates in bits and hertz. */
export interface ProbeResult {
  readonly kind: 'image' | 'video' | 'audio' | 'document'
  /** By content, never by name. */
  readonly mime: string
  readonly bytes: number
  /** As shown, after the rotation that the file asks for. Null for sound and documents. */
  readonly width: number | null
  readonly height: number | null
  /** Null where there is no time in it. */
  readonly seconds: number | null
  /** Clockwise, as the file asks for it. */
  readonly rotation: 0 | 90 | 180 | 270
  readonly bitrate: number | null
  readonly video: VideoTrack | null
  readonly audio: AudioTrack | null
  readonly hasAudio: boolean
  /** Frames of an animation, pages of a document; 1 otherwise. */
  readonly pages: number
  readonly hasAlpha: boolean
  /** The file ends before its media does. Thumbnails and transcodes of it are refused. */
  readonly truncated: boolean
  /** Whether a video can be streamed as it is; null for what is no video. */
  readonly streaming: Suitability | null
}

export interface ThumbnailSize {
  /** The file is called by it: `<name>.webp`. Lower-case letters, digits, `-` and `_`. */
  readonly name: string
  /** The longer edge, in pixels; 16 to 4,096. Smaller pictures are not enlarged. */
  readonly edge: number
  /** `cover` gives a square that is filled; `inside`, the default, keeps the shape. */
  readonly fit?: 'inside' | 'cover'
}

export interface ThumbnailOptions extends CallOptions, SourceOptions {
  /** One to eight. */
  readonly sizes: readonly ThumbnailSize[]
  /** WebP by default. JPEG has no transparency: white takes its place. */
  readonly format?: 'webp' | 'jpeg'
}

export interface TranscodeOptions extends ProgressOptions, SourceOptions {}

export interface Thumbnail {
  readonly name: string
  readonly path: string
  readonly width: number
  readonly height: number
  readonly bytes: number
}

export interface ThumbnailResult {
  readonly kind: ProbeResult['kind']
  readonly thumbnails: readonly Thumbnail[]
  /** https://blurha.sh, 4 × 3 components. */
  readonly blurhash: string
  /** Of sound only: the loudest point of each of 200 equal parts, 0 to 1. */
  readonly peaks: readonly number[] | null
}

export interface TranscodeResult {
  readonly bytes: number
  readonly mime: string
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  /** Measured before and aimed at, in LUFS; null when loudness was left alone or there was only silence. */
  readonly loudness: { readonly measured: number; readonly target: number } | null
}

export interface PreviewResult {
  /** Path of the playlist. Its pieces are ranges of the medium, which it calls `media.ts`. */
  readonly playlist: string
  readonly playlistBytes: number
  /** Path of the MPEG transport stream. */
  readonly media: string
  readonly mediaBytes: number
  readonly width: number
  readonly height: number
  readonly seconds: number
}

export interface LaneStats {
  readonly queued: number
  readonly running: number
  readonly concurrency: number
  readonly queueLimit: number
  /** Since the start. `refused` counts `busy` and `hostile` before any work. */
  readonly done: number
  readonly failed: number
  readonly cancelled: number
  readonly refused: number
  /** Processes that died under a job. */
  readonly deaths: number
  /** Sums over all jobs that ended, in seconds. */
  readonly waitedSeconds: number
  readonly workedSeconds: number
  readonly pids: readonly number[]
}

/** Work on media files in processes of its own. Every method rejects with a MediaWorkError. */
export interface MediaWork {
  probe(path: string, options?: CallOptions): Promise<ProbeResult>
  /** Writes the thumbnails into a folder that exists. Nothing is left there when it fails. */
  thumbnails(path: string, outputDir: string, options: ThumbnailOptions): Promise<ThumbnailResult>
  /** Writes one file; what was there is replaced at the end, at once. Nothing is left when it fails. */
  transcode(path: string, output: string, spec: TranscodeSpec, options?: TranscodeOptions): Promise<TranscodeResult>
  /** Writes an HLS preview, two files, into a folder that exists and is empty. Nothing is left there when it fails. */
  preview(path: string, outputDir: string, options?: TranscodeOptions): Promise<PreviewResult>
  stats(): { readonly quick: LaneStats; readonly long: LaneStats }
  /** Fails what is queued and running as `unavailable`, ends all processes and removes intermediate files. */
  close(): Promise<void>
}
