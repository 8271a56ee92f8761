/** Media limits of platforms, each with its source, because platforms change them. */

export interface MediaRule {
  readonly types: readonly string[]
  /** Absent if the source states no limit. */
  readonly maxBytes?: number
  readonly minSeconds?: number
  readonly maxSeconds?: number
}

export interface PlatformMedia {
  readonly title: string
  readonly image?: MediaRule
  readonly video?: MediaRule
  readonly document?: MediaRule
  readonly source: string
  /** Month in which the source was read. */
  readonly seen: string
}

const MB = 1_000_000
const MIB = 1_048_576
const GB = 1_000 * MB
const JPEG_PNG = ['image/jpeg', 'image/png']
const WEB_IMAGES = [...JPEG_PNG, 'image/webp', 'image/gif']
const MP4_MOV = ['video/mp4', 'video/quicktime']

const RULES = {
  x: {
    title: 'X',
    image: { types: WEB_IMAGES, maxBytes: 5 * MB },
    video: { types: MP4_MOV, maxBytes: 512 * MB, maxSeconds: 140 },
    source: 'docs.x.com, Media best practices',
    seen: '2026-10',
  },
  facebook: {
    title: 'Facebook',
    image: { types: [...JPEG_PNG, 'image/gif', 'image/webp'], maxBytes: 10 * MB },
    video: { types: MP4_MOV, minSeconds: 3, maxSeconds: 90 },
    source: 'developers.facebook.com, Page photos and Reels publishing',
    seen: '2026-07',
  },
  instagram: {
    title: 'Instagram',
    image: { types: ['image/jpeg'], maxBytes: 8 * MB },
    video: { types: MP4_MOV, maxBytes: 300 * MB, minSeconds: 3, maxSeconds: 900 },
    source: 'developers.facebook.com, IG User Media',
    seen: '2026-11',
  },
  threads: {
    title: 'Threads',
    image: { types: JPEG_PNG, maxBytes: 8 * MB },
    video: { types: MP4_MOV, maxBytes: 1 * GB, maxSeconds: 300 },
    source: 'developers.facebook.com, Threads media',
    seen: '2026-11',
  },
  linkedin: {
    title: 'LinkedIn',
    image: { types: [...JPEG_PNG, 'image/gif'] },
    video: { types: ['video/mp4'], maxBytes: 500 * MB, minSeconds: 3, maxSeconds: 1_800 },
    document: { types: ['application/pdf'], maxBytes: 100 * MB },
    source: 'learn.microsoft.com, LinkedIn Images, Videos and Documents APIs',
    seen: '2026-11',
  },
  tiktok: {
    title: 'TikTok',
    image: { types: ['image/jpeg', 'image/webp'], maxBytes: 20 * MB },
    video: { types: [...MP4_MOV, 'video/webm'], maxBytes: 4 * GB, minSeconds: 3, maxSeconds: 600 },
    source: 'developers.tiktok.com, Media transfer guide',
    seen: '2026-11',
  },
  youtube: {
    title: 'YouTube',
    video: {
      types: [...MP4_MOV, 'video/webm', 'video/matroska'],
      maxBytes: 256 * GB,
      maxSeconds: 43_200,
    },
    source: 'support.google.com, Upload videos longer than 15 minutes',
    seen: '2026-11',
  },
  pinterest: {
    title: 'Pinterest',
    image: { types: WEB_IMAGES, maxBytes: 20 * MB },
    video: { types: MP4_MOV, maxBytes: 2 * GB, minSeconds: 4, maxSeconds: 900 },
    source: 'developers.pinterest.com, Create Pins',
    seen: '2026-11',
  },
  bluesky: {
    title: 'Bluesky',
    image: { types: [...JPEG_PNG, 'image/webp'], maxBytes: 2 * MB },
    video: { types: ['video/mp4'], maxBytes: 300 * MB },
    source: 'lexicons of @atproto/api 0.20.44',
    seen: '2026-09',
  },
  mastodon: {
    title: 'Mastodon',
    image: { types: [...WEB_IMAGES, 'image/heic', 'image/avif'], maxBytes: 16 * MIB },
    video: { types: [...MP4_MOV, 'video/webm'], maxBytes: 99 * MIB },
    source: 'docs.joinmastodon.org, defaults; an instance may differ',
    seen: '2026-11',
  },
  telegram: {
    title: 'Telegram',
    image: { types: WEB_IMAGES, maxBytes: 10 * MB },
    video: { types: MP4_MOV, maxBytes: 50 * MB },
    source: 'core.telegram.org, Bot API sending files',
    seen: '2026-11',
  },
  discord: {
    title: 'Discord',
    image: { types: WEB_IMAGES, maxBytes: 10 * MIB },
    video: { types: [...MP4_MOV, 'video/webm'], maxBytes: 10 * MIB },
    source: 'discord.com/developers, Uploading files',
    seen: '2026-11',
  },
  wordpress: {
    title: 'WordPress',
    image: { types: [...WEB_IMAGES, 'image/bmp'] },
    video: { types: [...MP4_MOV, 'video/webm', 'video/ogg'] },
    document: { types: ['application/pdf', 'text/plain', 'text/csv'] },
    source: 'WordPress 6.1, wp_get_mime_types(); the web server of a site limits sizes',
    seen: '2026-11',
  },
} as const satisfies Readonly<Record<string, PlatformMedia>>

type MediaPlatform = keyof typeof RULES
export const PLATFORM_MEDIA: Readonly<Record<string, PlatformMedia>> = RULES
// TypeScript types the result of `Object.keys` as strings.
export const MEDIA_PLATFORMS = Object.keys(RULES) as [MediaPlatform, ...MediaPlatform[]]

/** Why a platform would refuse a file, as text. Empty if it would accept the file. */
export function refusals(platform: string, file: { kind: string; type: string; size: number | undefined }): string[] {
  const known = PLATFORM_MEDIA[platform]
  if (known === undefined) return []
  const rule = file.kind === 'image' || file.kind === 'video' || file.kind === 'document' ? known[file.kind] : undefined
  if (rule === undefined) return [`${known.title} takes no ${file.kind} files.`]
  const why: string[] = []
  if (!rule.types.includes(file.type)) why.push(`${known.title} takes ${rule.types.join(', ')}, not ${file.type}.`)
  if (file.size !== undefined && rule.maxBytes !== undefined && file.size > rule.maxBytes) {
    why.push(`${known.title} takes at most ${rule.maxBytes} bytes; the file has ${file.size}.`)
  }
  return why
}
