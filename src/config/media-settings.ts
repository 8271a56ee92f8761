import { integer, optional, withDefault } from './setting-readers.ts'

/** Settings of the relay, of recordings and of work on media files. */
export const mediaSettings = {
  MEDIA_JOIN_SECONDS: {
    summary:
      'How far behind the live edge a destination may start; where the last keyframe is older, it starts with the next one',
    fallback: '2',
    parse: withDefault(integer(0, 60), 2),
  },
  RECORDING_SPLIT_MINUTES: {
    summary: 'A recording goes on in another file after this time',
    fallback: '60',
    parse: withDefault(integer(1, 1_440), 60),
  },
  MEDIA_THUMBNAILS: {
    summary: 'Files that this node looks at and draws thumbnails of at a time',
    fallback: 'one a core, and one more; one workspace leaves one of them to others',
    parse: optional(integer(1, 64)),
  },
  MEDIA_TRANSCODES: {
    summary: 'Renditions that this node makes at a time',
    fallback: 'one for every 4 cores, at least 2; one workspace leaves one of them to others',
    parse: optional(integer(1, 64)),
  },
  MEDIA_THUMBNAIL_SECONDS: {
    summary: 'Longest time for the thumbnails of a file',
    fallback: '180',
    parse: optional(integer(5, 3_600)),
  },
  MEDIA_TRANSCODE_SECONDS: {
    summary: 'Longest time for a rendition',
    fallback: '21600',
    parse: optional(integer(10, 86_400)),
  },
  MEDIA_PREVIEW_SECONDS: {
    summary:
      'Videos at least so long get a preview (HLS) by themselves, where the plan has room; 0: only when it is ordered',
    fallback: '600',
    parse: withDefault(integer(0, 86_400), 600),
  },
  MEDIA_PROCESS_MB: {
    summary: 'Memory that a process for thumbnails may take, without its ffmpeg',
    fallback: '1536',
    parse: optional(integer(256, 65_536)),
  },
  MEDIA_FFMPEG_MB: {
    summary: 'Memory that one ffmpeg may take',
    fallback: '2048',
    parse: optional(integer(128, 65_536)),
  },
  MEDIA_OUTPUT_MB: {
    summary: 'Size that a rendition may have',
    fallback: '4096',
    parse: optional(integer(1, 1_000_000)),
  },
  MEDIA_NICENESS: {
    summary: 'How far work on files stands back behind everything else: 19 is as far as can be, 0 not at all',
    fallback: '19',
    parse: optional(integer(0, 19)),
  },
} as const
