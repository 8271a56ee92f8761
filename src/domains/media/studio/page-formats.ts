/** Sizes of pages for what platforms show, in pixels. Sources: the help pages of the platforms, November 2026. */
export const PAGE_FORMATS = {
  square: { width: 1080, height: 1080, about: 'posts at Instagram, Facebook and LinkedIn' },
  portrait: { width: 1080, height: 1350, about: 'upright posts at Instagram and Facebook' },
  story: { width: 1080, height: 1920, about: 'stories, Reels, TikTok and YouTube Shorts' },
  landscape: { width: 1920, height: 1080, about: 'YouTube, and videos at X and LinkedIn' },
  wide: { width: 1200, height: 630, about: 'pictures of links at Facebook, LinkedIn and X' },
  pin: { width: 1000, height: 1500, about: 'Pinterest' },
  thumbnail: { width: 1280, height: 720, about: 'thumbnails of YouTube' },
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
