import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'

/** The longest video of a story, in seconds (developers.facebook.com, Page Stories, 2026-11, as users report it). */
const MAX_SECONDS = 60

/** A story has one file, and neither text nor comments (developers.facebook.com, Page Stories, 2026-11). */
export function refusals(content: PostContent): readonly ContentRefusal[] {
  const { firstComment = '', link = '', media, options, text } = content
  if (options['placement'] !== 'story') return []
  const found: ContentRefusal[] = []
  if (media.length !== 1) {
    const message = `The story has ${media.length === 0 ? 'no file' : `${media.length} files`}; Facebook requires one.`
    found.push({ pointer: '/media', message, fix: 'Publish one story for each file.' })
  }
  for (const [index, { kind, seconds = 0 }] of media.entries()) {
    if (kind !== 'video' || seconds <= MAX_SECONDS) continue
    const message = `The video has ${Math.round(seconds)} seconds; a story of Facebook has at most ${MAX_SECONDS}.`
    found.push({ pointer: `/media/${index}`, message, fix: 'Shorten the video, or publish it as a reel.' })
  }
  if (firstComment !== '') {
    const message = 'Stories of Facebook have no comments.'
    found.push({ pointer: '/firstComment', message, fix: 'Remove the first comment.' })
  }
  for (const [field, value] of Object.entries({ text, link })) {
    if (value === '') continue
    const message = `Stories of Facebook have no ${field}, so it is left out.`
    found.push({ pointer: `/${field}`, message, fix: 'Put it into the picture.', severity: 'warning' })
  }
  return found
}
