import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../media/work/limits.ts'
import { loadConfig } from '../config/config.ts'
import { limitsOf, queueBounds } from './media-work.ts'

test('each configured limit of media work takes effect, and the others keep their defaults', () => {
  expect(limitsOf(loadConfig({}))).toEqual(DEFAULT_LIMITS)
  const config = loadConfig({
    MEDIA_THUMBNAILS: '7',
    MEDIA_TRANSCODES: '3',
    MEDIA_THUMBNAIL_SECONDS: '30',
    MEDIA_TRANSCODE_SECONDS: '600',
    MEDIA_PROCESS_MB: '512',
    MEDIA_FFMPEG_MB: '1024',
    MEDIA_OUTPUT_MB: '100',
  })
  expect(limitsOf(config)).toEqual({
    ...DEFAULT_LIMITS,
    quickConcurrency: 7,
    longConcurrency: 3,
    quickSeconds: 30,
    longSeconds: 600,
    processBytes: 512 * 2 ** 20,
    ffmpegBytes: 1024 * 2 ** 20,
    outputBytes: 100 * 2 ** 20,
  })
  // One job per work process: another job would only wait while its timeout runs.
  expect(queueBounds(config)).toEqual({ media: { concurrency: 7 }, transcodes: { concurrency: 3 } })
})
