/**
 * Facts about live platforms. Every value has its source and the month in which it was read, because platforms change
 * them without notice.
 *
 * Sources: `obs` is the services list that OBS Studio ships; `vendor` is the platform's own help or developer pages;
 * `reported` is what users and partners report where the platform documents nothing.
 */

export interface Fact<T> {
  readonly value: T
  readonly source: 'obs' | 'vendor' | 'reported'
  /** Year and month in which the source was read. */
  readonly seen: string
}

export interface LivePlatform {
  /** The name of the platform. */
  readonly label: string
  /** Server and application, without the key. Null where the platform gives a URL for each broadcast. */
  readonly ingestUrl: Fact<string> | null
  /** The server for a second encoder with the same stream. */
  readonly backupUrl: Fact<string> | null
  /** Domains of its ingest servers. URLs with other hosts are refused. */
  readonly hosts: readonly string[] | null
  /** Whether it accepts only RTMPS. */
  readonly tlsOnly: boolean
  readonly videoCodecs: Fact<readonly string[]>
  readonly audioCodecs: Fact<readonly string[]>
  /** Bits per second of video and audio together. Null where it is unknown. */
  readonly maxBitrate: Fact<number> | null
  /** Longest accepted time between keyframes, in seconds. */
  readonly maxKeyframeInterval: Fact<number>
  /** The recommended time between keyframes, in seconds. */
  readonly keyframeInterval: Fact<number>
  /** Longest broadcast, hours. */
  readonly maxHours: Fact<number> | null
  /** The format of its keys. Null where keys have no recognizable format. */
  readonly keyForm: RegExp | null
  /** Where a user finds the key. */
  readonly keyHelp: string
}

const obs = <T>(value: T): Fact<T> => ({ value, source: 'obs', seen: '2026-08' })
const vendor = <T>(value: T): Fact<T> => ({ value, source: 'vendor', seen: '2026-11' })
const reported = <T>(value: T): Fact<T> => ({ value, source: 'reported', seen: '2026-11' })

const H264 = ['h264'] as const
const AAC = ['aac'] as const

export const LIVE_PLATFORMS = {
  youtube: {
    label: 'YouTube',
    ingestUrl: obs('rtmps://a.rtmps.youtube.com:443/live2'),
    backupUrl: obs('rtmps://b.rtmps.youtube.com:443/live2?backup=1'),
    hosts: ['youtube.com'],
    tlsOnly: false,
    videoCodecs: vendor(['h264', 'hevc', 'av1']),
    audioCodecs: vendor(['aac', 'mp3']),
    maxBitrate: obs(51_160_000),
    maxKeyframeInterval: vendor(4),
    keyframeInterval: vendor(2),
    maxHours: null,
    keyForm: /^[a-z0-9]{4}(?:-[a-z0-9]{4}){3,5}$/i,
    keyHelp: 'YouTube Studio → Create → Go live → Stream shows it as “Stream key”, such as abcd-efgh-ijkl-mnop-qrst.',
  },
  twitch: {
    label: 'Twitch',
    ingestUrl: reported('rtmps://live.twitch.tv:443/app'),
    backupUrl: null,
    hosts: ['twitch.tv', 'live-video.net'],
    tlsOnly: false,
    // HEVC and multiple tracks need a handshake between OBS and Twitch.
    videoCodecs: vendor(H264),
    audioCodecs: vendor(AAC),
    maxBitrate: obs(6_320_000),
    maxKeyframeInterval: reported(4),
    keyframeInterval: vendor(2),
    maxHours: vendor(48),
    keyForm: /^live_\d+_\w+(?:\?.*)?$/,
    keyHelp: 'The Twitch dashboard → Settings → Stream shows it as “Primary stream key”. It begins with live_.',
  },
  facebook: {
    label: 'Facebook',
    ingestUrl: obs('rtmps://rtmp-api.facebook.com:443/rtmp'),
    backupUrl: null,
    hosts: ['facebook.com', 'fbcdn.net'],
    tlsOnly: true,
    videoCodecs: vendor(H264),
    audioCodecs: vendor(AAC),
    maxBitrate: vendor(9_256_000),
    maxKeyframeInterval: vendor(4),
    keyframeInterval: vendor(2),
    maxHours: vendor(8),
    keyForm: /^(?:FB-)?\d+-\d+-/,
    keyHelp:
      'Facebook Live Producer → Streaming software shows it. Copy the whole key, including the part after the “?”.',
  },
  kick: {
    label: 'Kick',
    ingestUrl: reported('rtmps://fa723fc1b171.global-contribute.live-video.net:443/app'),
    backupUrl: null,
    hosts: ['live-video.net'],
    tlsOnly: true,
    videoCodecs: reported(H264),
    audioCodecs: reported(AAC),
    maxBitrate: reported(8_000_000),
    maxKeyframeInterval: reported(4),
    keyframeInterval: reported(2),
    maxHours: null,
    keyForm: null,
    keyHelp: 'The Kick creator dashboard → Settings → Stream URL and key shows both.',
  },
  linkedin: {
    label: 'LinkedIn',
    ingestUrl: null,
    backupUrl: null,
    hosts: null,
    tlsOnly: false,
    videoCodecs: reported(H264),
    audioCodecs: reported(AAC),
    maxBitrate: reported(6_128_000),
    maxKeyframeInterval: reported(4),
    keyframeInterval: vendor(2),
    maxHours: reported(4),
    keyForm: null,
    keyHelp: 'The page of the LinkedIn Live event → Go live with custom stream shows a URL and a key for this event.',
  },
  x: {
    label: 'X',
    ingestUrl: null,
    backupUrl: null,
    hosts: ['pscp.tv', 'x.com', 'twitter.com'],
    tlsOnly: false,
    videoCodecs: obs(H264),
    audioCodecs: obs(AAC),
    maxBitrate: obs(12_128_000),
    maxKeyframeInterval: reported(4),
    keyframeInterval: obs(3),
    maxHours: null,
    keyForm: null,
    keyHelp: 'X Media Studio → Producer → Sources shows the RTMPS URL and the key of a source. Sources can be reused.',
  },
  tiktok: {
    label: 'TikTok',
    ingestUrl: null,
    backupUrl: null,
    hosts: null,
    tlsOnly: false,
    videoCodecs: reported(H264),
    audioCodecs: reported(AAC),
    maxBitrate: null,
    maxKeyframeInterval: reported(4),
    keyframeInterval: reported(2),
    maxHours: null,
    keyForm: null,
    keyHelp: 'TikTok LIVE Producer shows a server URL and a stream key. Both are new in each session.',
  },
  instagram: {
    label: 'Instagram',
    ingestUrl: null,
    backupUrl: null,
    hosts: ['instagram.com', 'facebook.com', 'fbcdn.net'],
    tlsOnly: true,
    videoCodecs: reported(H264),
    audioCodecs: reported(AAC),
    maxBitrate: reported(6_256_000),
    maxKeyframeInterval: reported(4),
    keyframeInterval: reported(2),
    maxHours: reported(4),
    keyForm: null,
    keyHelp: 'Instagram Live Producer (instagram.com → Add post → Live) shows a URL and a key for each broadcast.',
  },
} as const satisfies Record<string, LivePlatform>

export type LivePlatformName = keyof typeof LIVE_PLATFORMS

export const LIVE_PLATFORM_NAMES = Object.keys(LIVE_PLATFORMS) as [LivePlatformName, ...LivePlatformName[]]

/** Widened, because the literal types above are too expensive for the compiler. */
export function livePlatform(name: LivePlatformName): LivePlatform {
  return LIVE_PLATFORMS[name]
}
