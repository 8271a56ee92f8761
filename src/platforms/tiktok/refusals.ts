import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'
import type { Limits } from '../rules/limits.ts'

/** What TikTok refuses of the options (developers.tiktok.com, Content Sharing Guidelines, 2026-11). */
export function refusals(content: PostContent, limits: Limits): readonly ContentRefusal[] {
  const isDraft = content.options['mode'] === 'draft'
  return [...(isDraft ? ofDraft(content, limits) : ofPost(content, limits)), ...coverProblem(content)]
}

/** Why the account can have no draft, and what a draft does not have: its creator sets it in the app. */
function ofDraft({ media, options, text }: PostContent, { blocked }: Limits): readonly ContentRefusal[] {
  const reason = blocked['draft']
  if (reason !== undefined) {
    return [{ pointer: '/options/mode', message: reason, fix: 'Leave out `mode`, or connect the account again.' }]
  }
  const { mode: _mode, photo_cover_index: _cover, ...others } = options
  const isOfPhotos = media.length > 0 && media.every(({ kind }) => kind !== 'video')
  const [first] = Object.keys(others)
  const fix = 'Nothing to do. Set it in TikTok when you post the draft.'
  return [
    ...(isOfPhotos || text.trim() === ''
      ? []
      : [
          {
            pointer: '/text',
            message: 'TikTok takes no text for a draft of a video, so it is left out.',
            fix: 'Copy the text into TikTok when you post the draft.',
            severity: 'warning' as const,
          },
        ]),
    ...(first === undefined
      ? []
      : [
          {
            pointer: `/options/${first}`,
            message: `A draft at TikTok leaves out ${Object.keys(others).join(', ')}.`,
            fix,
            severity: 'warning' as const,
          },
        ]),
  ]
}

function ofPost({ options }: PostContent, { choices }: Limits): readonly ContentRefusal[] {
  const found: ContentRefusal[] = []
  const { brand_content_toggle: isPartnership, privacy_level: level } = options
  if (level === undefined) {
    found.push({
      pointer: '/options/privacy_level',
      message: 'TikTok requires a choice of who can see the post.',
      fix: 'Set `privacy_level`.',
    })
  }
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
  return found
}

function coverProblem({ media, options }: PostContent): readonly ContentRefusal[] {
  const cover = options['photo_cover_index']
  const isOfPhotos = media.length > 0 && media.every(({ kind }) => kind !== 'video')
  if (!isOfPhotos || typeof cover !== 'number' || cover < media.length) return []
  return [
    {
      pointer: '/options/photo_cover_index',
      message: `The post has no photo ${cover}. The first one is 0.`,
      fix: `Choose a number up to ${media.length - 1}.`,
    },
  ]
}
