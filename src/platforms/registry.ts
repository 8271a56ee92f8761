import { bluesky } from './bluesky/index.ts'
import { discord } from './discord/index.ts'
import { facebook } from './facebook/index.ts'
import { instagram } from './instagram/index.ts'
import { linkedin } from './linkedin/index.ts'
import { mastodon } from './mastodon/index.ts'
import { pinterest } from './pinterest/index.ts'
import type { Platform } from './platform.ts'
import { reddit } from './reddit/index.ts'
import { telegram } from './telegram/index.ts'
import { threads } from './threads/index.ts'
import { tiktok } from './tiktok/index.ts'
import { wordpress } from './wordpress/index.ts'
import { x } from './x/index.ts'
import { youtube } from './youtube/index.ts'

/** Every platform, in the order in which lists show them. */
export const PLATFORMS: readonly Platform[] = [
  x,
  facebook,
  instagram,
  threads,
  linkedin,
  tiktok,
  youtube,
  pinterest,
  bluesky,
  mastodon,
  reddit,
  telegram,
  discord,
  wordpress,
]

const byKey = new Map(PLATFORMS.map((platform) => [platform.key, platform]))

export function findPlatform(key: string): Platform | undefined {
  return byKey.get(key)
}
