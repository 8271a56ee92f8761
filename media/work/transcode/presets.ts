/**
 * Media requirements of platforms. Each row has its source and date. Where sources differ, the lower value is used. Settings
 * of the caller, such as current limits from the platform's API, override those of a preset.
 * A test keeps the presets within the rules of the platforms.
 */

export interface VideoRule {
  readonly maxWidth: number
  readonly maxHeight: number
  /** Smaller videos are enlarged to this. */
  readonly minWidth?: number
  readonly minHeight?: number
  readonly aspect?: '1:1' | '4:5' | '9:16' | '16:9'
  readonly maxFps: number
  readonly minFps?: number
  readonly videoKbps: number
  readonly maxBytes?: number
  /** Longer videos are refused, because users must decide what to cut. */
  readonly maxSeconds?: number
  readonly minSeconds?: number
  /** Adds silence if there is no audio. */
  readonly needsAudio?: true
  /** The document and its date. Absent for generic presets. */
  readonly source?: string
}

export interface ImageRule {
  readonly format: 'jpeg' | 'png' | 'webp'
  readonly maxWidth: number
  readonly maxHeight: number
  readonly minWidth?: number
  readonly minHeight?: number
  /** The narrowest and the widest aspect ratio, as width over height. Other images are cropped. */
  readonly aspects?: readonly [number, number]
  readonly maxBytes: number
  readonly source: string
}

const MB = 1_000_000
const GB = 1_000_000_000
const FULL_HD = { maxWidth: 1920, maxHeight: 1920, maxFps: 60, videoKbps: 8000 } as const
const VERTICAL = { ...FULL_HD, maxWidth: 1080, aspect: '9:16' } as const

export const VIDEO_PRESETS = {
  landscape: { ...FULL_HD, maxHeight: 1080, aspect: '16:9' },
  vertical: VERTICAL,
  square: { ...FULL_HD, maxWidth: 1080, maxHeight: 1080, aspect: '1:1' },
  portrait: { ...FULL_HD, maxWidth: 1080, maxHeight: 1350, aspect: '4:5' },
  /** For files that are streamed without transcoding: the lowest limits of all live platforms. */
  live: { ...FULL_HD, videoKbps: 5500, needsAudio: true, source: 'Twitch and Kick, broadcasting guidelines, 2026' },
  x: {
    ...FULL_HD,
    minWidth: 32,
    minHeight: 32,
    minSeconds: 0.5,
    maxBytes: 512 * MB,
    maxSeconds: 140,
    source: 'docs.x.com, 2026-10',
  },
  'facebook-reel': {
    ...VERTICAL,
    minWidth: 540,
    minHeight: 960,
    minFps: 24,
    minSeconds: 3,
    maxSeconds: 90,
    source: 'Meta, Reels publishing guide, 2026-07-30',
  },
  'instagram-reel': {
    ...VERTICAL,
    minFps: 24,
    minSeconds: 3,
    maxSeconds: 900,
    maxBytes: 300 * MB,
    source: 'Meta, IG User media reference, 2026',
  },
  'instagram-feed': {
    ...FULL_HD,
    maxWidth: 1080,
    maxHeight: 1350,
    aspect: '4:5',
    minFps: 24,
    minSeconds: 3,
    maxSeconds: 900,
    maxBytes: 300 * MB,
    source: 'Meta, IG User media reference, 2026',
  },
  threads: { ...FULL_HD, minFps: 24, maxSeconds: 300, maxBytes: GB, source: 'Meta, Threads posts, 2026' },
  linkedin: { ...FULL_HD, minSeconds: 3, maxSeconds: 1800, maxBytes: 500 * MB, source: 'LinkedIn, Videos API, 2026' },
  tiktok: {
    ...VERTICAL,
    minWidth: 360,
    minHeight: 360,
    minFps: 23,
    minSeconds: 3,
    maxSeconds: 600,
    maxBytes: 4 * GB,
    source: 'TikTok, media transfer guide, 2026',
  },
  youtube: { ...FULL_HD, videoKbps: 12_000, maxSeconds: 43_200, source: 'YouTube, upload help, 2026' },
  'youtube-short': { ...VERTICAL, maxSeconds: 180, source: 'YouTube, Shorts help, 2026' },
  pinterest: { ...FULL_HD, minSeconds: 4, maxSeconds: 900, maxBytes: 2 * GB, source: 'Pinterest, media, 2026' },
  bluesky: { ...FULL_HD, maxSeconds: 180, maxBytes: 300 * MB, source: 'app.bsky.video lexicon, 2026-09-11' },
  mastodon: { ...FULL_HD, maxBytes: 99 * MB, source: 'Mastodon defaults, 2026; instances differ' },
  reddit: { ...FULL_HD, minSeconds: 2, maxSeconds: 900, maxBytes: GB, source: 'Reddit, media help, 2026' },
  telegram: { ...FULL_HD, maxBytes: 50 * MB, source: 'Telegram Bot API, 2026' },
  discord: { ...FULL_HD, maxWidth: 1280, maxHeight: 1280, maxBytes: 10 * 2 ** 20, source: 'Discord, uploads, 2026' },
} as const satisfies Readonly<Record<string, VideoRule>>

export type VideoPreset = keyof typeof VIDEO_PRESETS

/** A small HLS rendition to look through a video, not to publish it. */
export const PREVIEW = { edge: 640, fps: 30, videoKbps: 800, audioKbps: 96, crf: 26, segmentSeconds: 4 } as const

/** Maximum size of a preview in bytes. */
export function maxPreviewBytes(seconds: number): number {
  return (seconds * (PREVIEW.videoKbps + PREVIEW.audioKbps) * 1000) / 8
}

const BIG = { format: 'jpeg', maxWidth: 4096, maxHeight: 4096 } as const

export const IMAGE_PRESETS = {
  x: { ...BIG, maxBytes: 5 * MB, source: 'docs.x.com, 2026-10' },
  facebook: { ...BIG, maxWidth: 2048, maxHeight: 2048, maxBytes: 4 * MB, source: 'Meta, photos, 2026; 4 MB advised' },
  instagram: {
    ...BIG,
    maxWidth: 1440,
    maxHeight: 1800,
    aspects: [4 / 5, 1.91],
    maxBytes: 8 * MB,
    source: 'Meta, IG User media reference, 2026',
  },
  threads: {
    ...BIG,
    maxWidth: 1440,
    maxHeight: 1440,
    aspects: [0.1, 10],
    maxBytes: 8 * MB,
    source: 'Meta, Threads posts, 2026',
  },
  linkedin: { ...BIG, maxBytes: 5 * MB, source: 'LinkedIn, Images API, 2026; fewer than 36,152,320 pixels' },
  tiktok: { ...BIG, maxWidth: 1920, maxHeight: 1920, maxBytes: 20 * MB, source: 'TikTok, photo posts, 2026' },
  pinterest: { ...BIG, maxBytes: 20 * MB, source: 'Pinterest, media, 2026' },
  bluesky: {
    ...BIG,
    maxWidth: 2000,
    maxHeight: 2000,
    maxBytes: 2 * MB,
    source: 'app.bsky.embed.images lexicon, 2026-09-11',
  },
  mastodon: { ...BIG, maxBytes: 16 * MB, source: 'Mastodon defaults, 2026; instances differ' },
  telegram: {
    ...BIG,
    maxWidth: 2560,
    maxHeight: 2560,
    aspects: [0.05, 20],
    maxBytes: 10 * MB,
    source: 'Telegram Bot API, 2026',
  },
  discord: { ...BIG, maxBytes: 10 * 2 ** 20, source: 'Discord, uploads, 2026' },
  'google-business': {
    ...BIG,
    minWidth: 250,
    minHeight: 250,
    maxBytes: 5 * MB,
    source: 'Google Business Profile help, 2026',
  },
} as const satisfies Readonly<Record<string, ImageRule>>

export type ImagePreset = keyof typeof IMAGE_PRESETS
