import { flag, integer, optional, text, withDefault } from './setting-readers.ts'

/** Settings of the relay, of recordings and of work on media files. */
export const mediaSettings = {
  FFMPEG_PATH: {
    summary: 'Path of ffmpeg',
    fallback: 'ffmpeg from PATH, otherwise that of Debian’s packages (FFMPEG_DOWNLOAD)',
    parse: optional(text),
  },
  FFMPEG_DOWNLOAD: {
    summary:
      'Get ffmpeg from Debian’s packages, without root, if the machine has none. They are unpacked into CACHE_DIR and renewed by a start after a week',
    fallback: '1',
    parse: withDefault(flag, true),
  },
  CACHE_DIR: {
    summary: 'Folder for programs that Crier downloads. It needs no backup',
    fallback: 'node_modules/.cache/crier, or ~/.cache/crier if that is not writable',
    parse: optional(text),
  },
  MEDIA_JOIN_SECONDS: {
    summary:
      'Maximum seconds behind the live edge at which a destination starts. If the last keyframe is older, it starts at the next one',
    fallback: '2',
    parse: withDefault(integer(0, 60), 2),
  },
  RECORDING_SPLIT_MINUTES: {
    summary: 'Minutes after which a recording continues in a new file',
    fallback: '60',
    parse: withDefault(integer(1, 1_440), 60),
  },
  MEDIA_THUMBNAILS: {
    summary: 'Number of files that this node examines at a time, including thumbnails',
    fallback: 'number of cores + 1. A single workspace uses at most all but one',
    parse: optional(integer(1, 64)),
  },
  MEDIA_TRANSCODES: {
    summary: 'Number of renditions that this node makes at a time',
    fallback: 'a quarter of the cores, at least 2. A single workspace uses at most all but one',
    parse: optional(integer(1, 64)),
  },
  MEDIA_THUMBNAIL_SECONDS: {
    summary: 'Maximum seconds for the thumbnails of a file',
    fallback: '180',
    parse: optional(integer(5, 3_600)),
  },
  MEDIA_TRANSCODE_SECONDS: {
    summary: 'Maximum seconds for a rendition',
    fallback: '21600',
    parse: optional(integer(10, 86_400)),
  },
  MEDIA_PREVIEW_SECONDS: {
    summary:
      'Minimum length in seconds of videos that get an HLS preview automatically, if the plan has room. 0 turns this off',
    fallback: '600',
    parse: withDefault(integer(0, 86_400), 600),
  },
  MEDIA_PROCESS_MB: {
    summary: 'Maximum memory of a thumbnail process in MB, without its ffmpeg',
    fallback: '1536',
    parse: optional(integer(256, 65_536)),
  },
  MEDIA_FFMPEG_MB: {
    summary: 'Maximum memory of one ffmpeg in MB',
    fallback: '2048',
    parse: optional(integer(128, 65_536)),
  },
  MEDIA_OUTPUT_MB: {
    summary: 'Maximum size of a rendition in MB',
    fallback: '4096',
    parse: optional(integer(1, 1_000_000)),
  },
  MEDIA_NICENESS: {
    summary:
      'CPU niceness of media work: 19 is the lowest priority and leaves one processor to other work, 0 is normal',
    fallback: '19',
    parse: optional(integer(0, 19)),
  },
} as const
