import { tmpdir } from 'node:os'
import { startMediaWork } from '../media/work/media-work.ts'
import type { MediaWork } from '../media/work/types.ts'
import type { Config } from './config.ts'
import type { Logger } from './core/log.ts'
import { findFfmpeg } from './setup/ffmpeg.ts'

/** Media work that starts with the first file that needs it: a node that never sees one starts nothing. */
export function mediaWorkOf(config: Config, log: Logger) {
  let started: Promise<MediaWork> | undefined
  const start = async () => {
    const { ffmpeg } = await findFfmpeg({ FFMPEG_PATH: config.FFMPEG_PATH, PATH: config.PATH })
    return startMediaWork({ ffmpegPath: ffmpeg?.path, tempDir: tmpdir(), log })
  }
  return {
    get: (): Promise<MediaWork> => (started ??= start()),
    close: async (): Promise<void> => (await started)?.close(),
  }
}
