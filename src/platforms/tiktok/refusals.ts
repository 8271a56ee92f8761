import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'
import type { Limits } from '../rules/limits.ts'

/** What TikTok refuses of the options (developers.tiktok.com, Content Sharing Guidelines, 2026-11). */
export function refusals({ media, options }: PostContent, { choices }: Limits): readonly ContentRefusal[] {
  const found: ContentRefusal[] = []
  const { brand_content_toggle: isPartnership, photo_cover_index: cover, privacy_level: level } = options
  const offered = choices['privacy_level'] ?? []
  if (typeof level === 'string' && offered.length > 0 && !offered.some(({ value }) => value === level)) {
    found.push({
      pointer: '/options/privacy_level',
      message: `TikTok does not offer ${level} to this account.`,
      fix: `Choose one of ${offered.map(({ value }) => value).join(', ')}.`,
    })
  }
  if (isPartnership === true && level === 'SELF_ONLY') {
    found.push({
      pointer: '/options/privacy_level',
      message: 'TikTok refuses a paid partnership that only the creator sees.',
      fix: 'Choose another `privacy_level`, or leave out `brand_content_toggle`.',
    })
  }
  const isOfPhotos = media.length > 0 && media.every(({ kind }) => kind !== 'video')
  if (isOfPhotos && typeof cover === 'number' && cover >= media.length) {
    found.push({
      pointer: '/options/photo_cover_index',
      message: `The post has no photo ${cover}. The first one is 0.`,
      fix: `Choose a number up to ${media.length - 1}.`,
    })
  }
  return found
}
