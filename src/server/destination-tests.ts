import { testDestination } from '../../media/relay/test-destination.ts'
import { SlateRenderer } from '../../media/slate/renderer.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../core/log.ts'
import type { TestDestination } from '../foundation.ts'

/** The picture that a tested server gets: one that every platform accepts. */
const FORMAT = { width: 1_280, height: 720, fps: 30, profile: 'main' } as const
const MEDIA_MS = 5_000

/**
 * Tests destinations from this process.
 * @param ffmpeg path of ffmpeg. Without one, silence is sent instead of a picture
 */
export function destinationTester(config: Config, ffmpeg: string | undefined, log: Logger): TestDestination {
  const renderer = new SlateRenderer(ffmpeg, log.child({ part: 'destination tests' }))
  return async ({ streamKey, url }) => {
    const clip = renderer.hasFfmpeg ? await renderer.clip(FORMAT, undefined).catch(() => undefined) : undefined
    const { ALLOW_PRIVATE_ADDRESSES: allowPrivateAddresses } = config
    return testDestination({ url, streamKey, allowPrivateAddresses, clip, mediaMs: MEDIA_MS })
  }
}
