import type { MediaLog } from '../types.ts'
import type { Suitability } from '../playout/suitability.ts'
import type { MediaWorkLimits } from './limits.ts'
import type { RenderOrder, RenderedScene } from './studio/scene.ts'
import type { TranscodeSpec } from './transcode/spec.ts'

export interface MediaWorkOptions {
  /** Without ffmpeg, images and PDF still work. Video and audio are refused as `unavailable`. */
  readonly ffmpegPath?: string | undefined
  /** Without ffprobe, the output of `ffmpeg -i` is used instead. */
  readonly ffprobePath?: string | undefined
  /** An existing folder for intermediate files. */
  readonly tempDir: string
  readonly limits?: Partial<MediaWorkLimits>
  /** Niceness of the processes, 0 to 19. Defaults to 19. */
  readonly niceness?: number
  readonly log: MediaLog
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Jobs of a higher priority start first. Defaults to 0. */
  readonly priority?: number
}

export interface ProgressOptions extends CallOptions {
  readonly onProgress?: (progress: Progress) => void
}

export interface SourceOptions {
  /**
   * The result of an earlier probe of this file, which saves a tenth of a second. It is ignored if the size of the file has
   * changed.
   */
  readonly probed?: ProbeResult | undefined
}

/** The progress of a transcode, reported about every half second. */
export interface Progress {
  /** 0 to 1. */
  readonly fraction: number
  /** Frames encoded per second. Null for audio. */
  readonly fps: number | null
  /** Estimated seconds left. Null while unknown. */
  readonly etaSeconds: number | null
}

export type HdrTransfer = 'smpte2084' | 'arib-std-b67'

export interface VideoTrack {
  readonly codec: string
  readonly profile: string | null
  /** As shown: after rotation, in square pixels. */
  readonly width: number
  readonly height: number
  readonly frameRate: number | null
  readonly bitrate: number | null
  readonly pixelFormat: string | null
  /** HDR transfer function by its ffmpeg name: PQ or HLG. Null for other video. */
  readonly hdr: HdrTransfer | null
}

export interface AudioTrack {
  readonly codec: string
  readonly channels: number
  readonly sampleRate: number
  readonly bitrate: number | null
}

/** The result of a probe, as plain JSON. Dimensions in pixels, times in seconds, rates in bit/s and Hz. */
export interface ProbeResult {
  readonly kind: 'image' | 'video' | 'audio' | 'document'
  /** Detected from the content, not from the name. */
  readonly mime: string
  readonly bytes: number
  /** As shown, after rotation. Null for audio and documents. */
  readonly width: number | null
  readonly height: number | null
  /** Duration. Null for still images and documents. */
  readonly seconds: number | null
  /** The clockwise rotation that the file declares. */
  readonly rotation: 0 | 90 | 180 | 270
  readonly bitrate: number | null
  readonly video: VideoTrack | null
  readonly audio: AudioTrack | null
  readonly hasAudio: boolean
  /** Frames of an animation or pages of a document. 1 for other files. */
  readonly pages: number
  readonly hasAlpha: boolean
  /** The file ends before its media does. Thumbnails and transcodes of it are refused. */
  readonly truncated: boolean
  /** Whether a video can be streamed without transcoding. Null for other files. */
  readonly streaming: Suitability | null
}

export interface ThumbnailSize {
  /** Name of the file without extension. Lower-case letters, digits, `-` and `_`. */
  readonly name: string
  /** Length of the longer edge in pixels, 16 to 4,096. Smaller images are not enlarged. */
  readonly edge: number
  /** `cover` crops to a square. `inside`, the default, keeps the aspect ratio. */
  readonly fit?: 'inside' | 'cover'
}

export interface ThumbnailOptions extends CallOptions, SourceOptions {
  /** One to eight sizes. */
  readonly sizes: readonly ThumbnailSize[]
  /** Defaults to WebP. In JPEG, transparent pixels become white. */
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
  /** BlurHash (https://blurha.sh) with 4 × 3 components. */
  readonly blurhash: string
  /** For audio, the peak level of each of 200 equal parts, 0 to 1. Null for other files. */
  readonly peaks: readonly number[] | null
}

export interface TranscodeResult {
  readonly bytes: number
  readonly mime: string
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  /** The measured and the target loudness in LUFS. Null if the loudness is unchanged or the audio is silent. */
  readonly loudness: { readonly measured: number; readonly target: number } | null
}

export interface PreviewResult {
  /** Path of the playlist. Its segments are byte ranges of the media file, which it names `media.ts`. */
  readonly playlist: string
  readonly playlistBytes: number
  /** Path of the media file, an MPEG transport stream. */
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
  /** Counts since the start. `refused` counts `busy`. */
  readonly done: number
  readonly failed: number
  readonly cancelled: number
  readonly refused: number
  /** Processes that died while they ran a job. */
  readonly deaths: number
  /** Sums over all ended jobs, in seconds. */
  readonly waitedSeconds: number
  readonly workedSeconds: number
  readonly pids: readonly number[]
}

/** A piece of the sound of a file. */
export interface SpeechPiece {
  /** Path of a FLAC file: 16-bit mono, 16 kHz. */
  readonly path: string
  /** Where it begins in the file, and its length, in seconds. */
  readonly start: number
  readonly seconds: number
  readonly bytes: number
}

export interface SpeechResult {
  /** The duration of the sound. */
  readonly seconds: number
  /** In order. None for a silent file. Pauses of 20 seconds or more are in none of them. */
  readonly pieces: readonly SpeechPiece[]
}

export interface SpeechOptions extends ProgressOptions, SourceOptions {
  /** The longest piece, in seconds. */
  readonly maxSeconds: number
}

export interface SubtitleResult {
  /** Language tag. Null if the file does not say it. */
  readonly language: string | null
  /** WebVTT. */
  readonly vtt: string
}

export interface SubtitleOptions extends CallOptions {
  /** The language tag of the wanted subtitles. Others are read if there are none. */
  readonly language?: string | undefined
}

/** Processes media files in child processes. Every method rejects with a MediaWorkError. */
export interface MediaWork {
  probe(path: string, options?: CallOptions): Promise<ProbeResult>
  /** Writes thumbnails to an existing folder. Leaves nothing there on failure. */
  thumbnails(path: string, outputDir: string, options: ThumbnailOptions): Promise<ThumbnailResult>
  /** Writes one file. An existing file is replaced atomically at the end. Leaves nothing on failure. */
  transcode(path: string, output: string, spec: TranscodeSpec, options?: TranscodeOptions): Promise<TranscodeResult>
  /** Writes an HLS preview (two files) to an existing empty folder. Leaves nothing there on failure. */
  preview(path: string, outputDir: string, options?: TranscodeOptions): Promise<PreviewResult>
  /** Extracts the sound to an existing empty folder, cut at pauses, for speech recognition. Leaves nothing there on failure. */
  speech(path: string, outputDir: string, options: SpeechOptions): Promise<SpeechResult>
  /** Reads the text subtitles that are embedded in a file. Null if there are none. */
  subtitles(path: string, options?: SubtitleOptions): Promise<SubtitleResult | null>
  /**
   * Renders a scene of the studio, given as a JSON file (`studio/scene.ts`), to an existing empty folder: a picture of each page
   * of the order, or a video of them. Leaves nothing there on failure.
   */
  render(path: string, outputDir: string, order: RenderOrder, options?: ProgressOptions): Promise<RenderedScene>
  stats(): { readonly quick: LaneStats; readonly long: LaneStats }
  /** Fails queued and running jobs with `unavailable`, ends all processes and deletes intermediate files. */
  close(): Promise<void>
}
