import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'

/** The length of the video of a story, in seconds. */
const [MIN_SECONDS, MAX_SECONDS] = [3, 60]

/** A story has one file and no comments (developers.facebook.com, Instagram content publishing, 2026-11). */
export function refusals({ firstComment = '', media, options }: PostContent): readonly ContentRefusal[] {
  if (options['placement'] !== 'story') return []
  const found: ContentRefusal[] = []
  if (media.length > 1) {
    const message = `The story has ${media.length} files; Instagram allows one.`
    found.push({ pointer: '/media', message, fix: 'Publish one story for each file.' })
  }
  for (const [index, { seconds }] of media.entries()) {
    if (seconds === undefined || (seconds >= MIN_SECONDS && seconds <= MAX_SECONDS)) continue
    const message = `The video has ${Math.round(seconds)} seconds; a story of Instagram has ${MIN_SECONDS} to ${MAX_SECONDS}.`
    found.push({ pointer: `/media/${index}`, message, fix: 'Shorten the video, or publish it as a reel.' })
  }
  if (firstComment !== '') {
    const message = 'Stories of Instagram have no comments.'
    found.push({ pointer: '/firstComment', message, fix: 'Remove the first comment.' })
  }
  return found
}
