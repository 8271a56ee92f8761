import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'
import { pollMinutes, pollOf, type Poll } from '../polls.ts'

/** The durations of the Poll API, by their minutes (learn.microsoft.com, LinkedIn Poll API, 2026-11). */
export const DURATIONS: Readonly<Record<string, string>> = {
  1440: 'ONE_DAY',
  4320: 'THREE_DAYS',
  10080: 'SEVEN_DAYS',
  20160: 'FOURTEEN_DAYS',
}

/** A poll as the content of a post (learn.microsoft.com, LinkedIn Poll API, 2026-11). Voters choose one answer. */
export function pollContent(poll: Poll) {
  const duration = DURATIONS[pollMinutes(poll)]
  const settings = { duration, voteSelectionType: 'SINGLE_VOTE', isVoterVisibleToAuthor: true }
  return { question: poll.question, options: poll.options.map((text) => ({ text })), settings }
}

/** A post has one content: files, the card of a link, or a poll (learn.microsoft.com, Posts API, 2026-11). */
export function refusals({ link = '', options }: PostContent): readonly ContentRefusal[] {
  if (pollOf(options) === undefined || link === '') return []
  const message = 'LinkedIn has no card of a link in a post with a poll.'
  return [{ pointer: '/link', message, fix: 'Put the link into the text.' }]
}
