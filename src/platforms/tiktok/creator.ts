import type { CreatorProblem, CreatorWish, LiveCapabilities } from '../platform.ts'

const INTERACTIONS = { allowComments: 'comments', allowDuet: 'duet', allowStitch: 'stitch' } as const

/** What the creator cannot do, of the things that a post would need (developers.tiktok.com, Content Sharing Guidelines). */
export function creatorProblems({ blocked, details, limits }: LiveCapabilities, wish: CreatorWish): CreatorProblem[] {
  const problems: CreatorProblem[] = []
  const options = (details['privacy_level_options'] as readonly string[] | undefined) ?? []
  if (wish.privacyLevel !== undefined && !options.includes(wish.privacyLevel)) {
    const offered = options.length === 0 ? 'none' : options.join(', ')
    problems.push({
      field: 'privacyLevel',
      message: `TikTok offers this creator ${offered}, not ${wish.privacyLevel}.`,
    })
  }
  const maxSeconds = limits['video.maxSeconds']
  if (wish.durationSeconds !== undefined && maxSeconds !== undefined && wish.durationSeconds > maxSeconds) {
    problems.push({
      field: 'durationSeconds',
      message: `This creator can post videos of at most ${maxSeconds} seconds; this one has ${wish.durationSeconds}.`,
    })
  }
  for (const [field, capability] of Object.entries(INTERACTIONS)) {
    const reason = blocked[capability]
    if (wish[field as keyof typeof INTERACTIONS] === true && reason !== undefined)
      problems.push({ field, message: reason })
  }
  return problems
}
