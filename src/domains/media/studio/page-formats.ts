/**
 * Sizes of pages for what platforms show, in pixels. `source` is what states the size, or the proportions that it keeps
 * to, and when it was read.
 */
export const PAGE_FORMATS = {
  square: {
    width: 1080,
    height: 1080,
    about: 'posts at Instagram, Facebook and LinkedIn',
    source: 'Instagram help, image resolution of photos: 1080 wide, 1.91:1 to 4:5 (quoted by others, 2026-11)',
  },
  portrait: {
    width: 1080,
    height: 1350,
    about: 'upright posts at Instagram and Facebook',
    source: 'Instagram help, image resolution of photos: 1080 wide, at most 1350 high (quoted by others, 2026-11)',
  },
  story: {
    width: 1080,
    height: 1920,
    about: 'stories, Reels, TikTok and YouTube Shorts',
    source: 'Facebook Reels API: 9:16, at least 540 × 960 (2026-07); 1080 × 1920 by ayrshare.com/docs (2026-11)',
  },
  landscape: {
    width: 1920,
    height: 1080,
    about: 'YouTube, and videos at X and LinkedIn',
    source: '16:9 is the player of YouTube; no platform with a rule here refuses it (2026-11)',
  },
  wide: {
    width: 1200,
    height: 630,
    about: 'pictures of links at Facebook, LinkedIn and X',
    source: 'developers.facebook.com/docs/sharing/webmasters/images (2026-11)',
  },
  pin: {
    width: 1000,
    height: 1500,
    about: 'Pinterest',
    source: 'Pinterest help, 2:3 (quoted by postfa.st/sizes/pinterest/pin, 2026-03)',
  },
  thumbnail: {
    width: 1280,
    height: 720,
    about: 'thumbnails of YouTube',
    source: 'YouTube help, custom thumbnails: 1280 × 720, 16:9, at most 2 MB (quoted by others, 2026-11)',
  },
} as const

export type PageFormat = keyof typeof PAGE_FORMATS
export const PAGE_FORMAT_NAMES = Object.keys(PAGE_FORMATS) as [PageFormat, ...PageFormat[]]

export interface PageSize {
  readonly width: number
  readonly height: number
}

/** The size of a page. The project was checked, so it has either a format, or a width and a height. */
export function sizeOf(page: {
  readonly pageFormat?: PageFormat
  readonly width?: number
  readonly height?: number
}): PageSize {
  const { height = 0, pageFormat, width = 0 } = page
  if (pageFormat === undefined) return { width, height }
  const format = PAGE_FORMATS[pageFormat]
  return { width: format.width, height: format.height }
}
