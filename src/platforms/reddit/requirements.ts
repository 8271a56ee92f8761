import { PlatformError } from '../error-kinds.ts'
import type { AccountContext } from '../platform.ts'
import type { PublishPart } from '../publishing.ts'
import { call, subredditOf, TITLE } from './call.ts'

/** What the moderators of a subreddit require (reddit.com/dev/api, post_requirements, 2026-11). */
interface Requirements {
  readonly is_flair_required?: boolean
  readonly title_text_min_length?: number | null
  readonly title_text_max_length?: number | null
  readonly title_required_strings?: readonly string[]
  readonly body_restriction_policy?: 'required' | 'notAllowed' | 'none' | null
  readonly body_text_min_length?: number | null
  readonly body_text_max_length?: number | null
  readonly link_restriction_policy?: 'whitelist' | 'blacklist' | 'none' | null
  readonly domain_whitelist?: readonly string[]
  readonly domain_blacklist?: readonly string[]
  readonly gallery_min_items?: number | null
  readonly gallery_max_items?: number | null
  readonly guidelines_text?: string | null
}

/** A flair of a subreddit (reddit.com/dev/api, GET /r/subreddit/api/link_flair_v2, 2026-11). */
export interface Flair {
  readonly id: string
  readonly text: string
  readonly mod_only?: boolean
}

/** How many flairs the message names. */
const NAMED_FLAIRS = 20

/**
 * Checks a post before any file is uploaded, so that the user learns what the subreddit requires.
 * @throws PlatformError validation
 */
export async function checkRequirements(context: AccountContext, part: PublishPart): Promise<void> {
  const subreddit = subredditOf(part.options['subreddit'])
  // Profiles have no requirements.
  if (subreddit.startsWith('u_')) return
  const found = await call<Requirements | undefined>(context, `/api/v1/${subreddit}/post_requirements`, {
    expect: [404],
  })
  const requirements = found ?? {}
  if (requirements.is_flair_required === true && part.options['flair_id'] === undefined) {
    throw refused(
      'SUBMIT_VALIDATION_FLAIR_REQUIRED',
      `r/${subreddit} requires a flair. ${await flairsOf(context, subreddit)}`,
    )
  }
  const problem = problemOf(requirements, part)
  if (problem !== undefined) throw refused('post_requirements', `r/${subreddit}: ${problem}`)
}

function problemOf(rules: Requirements, { link, media, text, title = '' }: PublishPart): string | undefined {
  const isText = media.length === 0 && link === undefined
  const size = Array.from(title).length
  const bodySize = Array.from(text).length
  const hasTerm = (rules.title_required_strings ?? []).some((term) => title.toLowerCase().includes(term.toLowerCase()))
  const checks: readonly (readonly [boolean, string])[] = [
    [size < (rules.title_text_min_length ?? 0), `titles have at least ${rules.title_text_min_length} characters.`],
    [size > (rules.title_text_max_length ?? 300), `titles have at most ${rules.title_text_max_length} characters.`],
    [
      (rules.title_required_strings ?? []).length > 0 && !hasTerm,
      `titles contain one of: ${rules.title_required_strings?.join(', ')}.`,
    ],
    [isText && rules.body_restriction_policy === 'required' && text === '', 'posts need a text.'],
    [rules.body_restriction_policy === 'notAllowed' && text !== '', 'posts have no text.'],
    [
      isText && bodySize < (rules.body_text_min_length ?? 0),
      `texts have at least ${rules.body_text_min_length} characters.`,
    ],
    [bodySize > (rules.body_text_max_length ?? 40_000), `texts have at most ${rules.body_text_max_length} characters.`],
    [!allowsDomain(rules, link), 'links to this domain are not allowed.'],
    [
      media.length > 1 && media.length < (rules.gallery_min_items ?? 0),
      `galleries have at least ${rules.gallery_min_items} images.`,
    ],
    [media.length > (rules.gallery_max_items ?? 20), `galleries have at most ${rules.gallery_max_items} images.`],
  ]
  return checks.find(([isBroken]) => isBroken)?.[1]
}

function allowsDomain(rules: Requirements, link: string | undefined): boolean {
  const host = link === undefined ? undefined : URL.parse(link)?.hostname
  if (host === undefined) return true
  const isIn = (domains: readonly string[] = []) => domains.some((one) => host === one || host.endsWith(`.${one}`))
  if (rules.link_restriction_policy === 'whitelist') return isIn(rules.domain_whitelist)
  return rules.link_restriction_policy !== 'blacklist' || !isIn(rules.domain_blacklist)
}

/** The flairs of a subreddit that a user can choose; undefined if Reddit does not list them for the account. */
export async function choosableFlairs(
  context: AccountContext,
  subreddit: string,
): Promise<readonly Flair[] | undefined> {
  const path = `/r/${subreddit}/api/link_flair_v2`
  const flairs = await call<readonly Flair[]>(context, path, { expect: [403, 404] })
  if (!Array.isArray(flairs)) return undefined
  return (flairs as readonly Flair[]).filter(({ mod_only: isForModerators }) => isForModerators !== true)
}

/** The flairs that a user can choose, for the message. */
async function flairsOf(context: AccountContext, subreddit: string): Promise<string> {
  const named = await choosableFlairs(context, subreddit)
  if (named === undefined) return 'Set `flair_id`.'
  const list = named.slice(0, NAMED_FLAIRS).map(({ id, text }) => `${text} (${id})`)
  return `Set \`flair_id\` to one of: ${list.join(', ')}.`
}

function refused(code: string, detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { code, detail, mayHaveHappened: false })
}
