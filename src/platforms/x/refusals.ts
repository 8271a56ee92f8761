import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'
import { pollOf } from '../polls.ts'

/** Files, a quote and a poll exclude each other (docs.x.com, Create Post, 2026-11). */
export function refusals({ media, options }: PostContent): readonly ContentRefusal[] {
  if (options['quote_tweet_id'] === undefined) return []
  const pointer = '/options/quote_tweet_id'
  return [
    ...(media.length === 0
      ? []
      : [
          {
            pointer,
            message: 'X takes no files in a post that quotes another one.',
            fix: 'Remove the files, or leave out `quote_tweet_id`.',
          },
        ]),
    ...(pollOf(options) === undefined
      ? []
      : [
          {
            pointer,
            message: 'X takes no poll in a post that quotes another one.',
            fix: 'Leave out `poll` or `quote_tweet_id`.',
          },
        ]),
  ]
}
