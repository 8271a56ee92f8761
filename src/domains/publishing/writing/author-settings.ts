import type { MemoryKey } from '../../../core/turn.ts'
import type { Sql } from '../../../core/sql.ts'
import { AFTER_LINK } from '../../../platforms/rules/counting.ts'
import { numberOf } from '../../../platforms/rules/limits.ts'
import { spansOf } from '../../../platforms/rules/spans.ts'
import { publishingSettingsOf, type PublishingSettingsData } from '../../identity/users/index.ts'
import { postingAccounts, type PostingAccount } from '../../social/accounts/index.ts'
import type { PostChecks } from './checks.ts'
import type { NewPostInput } from '../posts/index.ts'

/** The settings of the authors of a batch, by user id. */
export const BATCH_SETTINGS: MemoryKey<Map<string, PublishingSettingsData>> = {
  name: 'posts.author-settings',
  make: () => new Map(),
}

/** Where settings and accounts are read. */
interface Place {
  readonly sql: Sql
  /** Those that are already read. */
  readonly known?: {
    readonly settings: ReadonlyMap<string, PublishingSettingsData>
    readonly accounts: ReadonlyMap<string, PostingAccount>
  }
}

/**
 * Applies the publishing settings of an author to a new post: its time zone, its first comment and the campaign parameters
 * of its links. Values in the request take precedence.
 */
export class AuthorSettings {
  readonly #checks: Pick<PostChecks, 'limits'>

  constructor(checks: Pick<PostChecks, 'limits'>) {
    this.#checks = checks
  }

  async apply(input: NewPostInput, userId: string, { known, sql }: Place): Promise<NewPostInput> {
    const settings = known?.settings.get(userId) ?? (await publishingSettingsOf(sql, [userId])).get(userId)
    if (settings === undefined) return input
    const { defaultFirstComment, defaultTimezone, utm } = settings
    const zoned =
      defaultTimezone === null || input.timezone !== undefined ? input : { ...input, timezone: defaultTimezone }
    const commented =
      defaultFirstComment === '' || zoned.firstComment !== undefined
        ? zoned
        : await this.#commented(zoned, defaultFirstComment, { sql, ...(known && { known }) })
    return utm.enabled ? withCampaign(commented, utm) : commented
  }

  /** Leaves out accounts of platforms without comments, because the author has not asked for a comment there. */
  async #commented(input: NewPostInput, firstComment: string, { known, sql }: Place): Promise<NewPostInput> {
    const { targets = [], workspaceId } = input
    const ids = targets.map(({ accountId }) => accountId)
    const all = known?.accounts
    const accounts =
      all !== undefined && ids.every((id) => all.has(id)) ? all : await postingAccounts(sql, workspaceId, ids)
    return {
      ...input,
      firstComment,
      ...(input.targets !== undefined && {
        targets: targets.map((target) => {
          const account = accounts.get(target.accountId)
          const takesComments =
            account === undefined || (numberOf(this.#checks.limits(account), 'comment.max') ?? 0) > 0
          if (takesComments || target.override?.firstComment !== undefined) return target
          return { ...target, override: { ...target.override, firstComment: null } }
        }),
      }),
    }
  }
}

type Campaign = PublishingSettingsData['utm']
type Texts = Pick<NewPostInput, 'content' | 'link' | 'thread' | 'firstComment'>

function withCampaign(input: NewPostInput, utm: Campaign): NewPostInput {
  const { targets } = input
  return {
    ...input,
    ...campaignIn(input, utm),
    ...(targets !== undefined && {
      targets: targets.map((target) =>
        target.override == null
          ? target
          : { ...target, override: { ...target.override, ...campaignIn(target.override, utm) } },
      ),
    }),
  }
}

function campaignIn({ content, firstComment, link, thread }: Texts, utm: Campaign): Texts {
  return {
    ...(content !== undefined && { content: inText(content, utm) }),
    ...(link !== undefined && { link: link === null ? null : tagged(link, utm) }),
    ...(firstComment !== undefined && { firstComment: firstComment === null ? null : inText(firstComment, utm) }),
    ...(thread !== undefined && { thread: thread.map((part) => ({ ...part, content: inText(part.content, utm) })) }),
  }
}

function inText(text: string, utm: Campaign): string {
  let written = ''
  let end = 0
  for (const span of spansOf(text)) {
    if (span.kind !== 'link') continue
    const found = text.slice(span.start, span.end)
    const tail = AFTER_LINK.exec(found)?.[0] ?? ''
    const link = found.slice(0, found.length - tail.length)
    written += `${text.slice(end, span.start)}${tagged(link, utm)}${tail}`
    end = span.end
  }
  return written + text.slice(end)
}

/** A link with the campaign's parameters. A link that has such parameters already is not changed. */
export function tagged(link: string, utm: Campaign): string {
  if (!/^https?:\/\//i.test(link) || !URL.canParse(link)) return link
  const names = ['source', 'medium', 'campaign', 'term', 'content'] as const
  const [address = '', ...fragment] = link.split('#')
  const query = new URLSearchParams(new URL(link).search)
  if ([...query.keys()].some((key) => key.startsWith('utm_'))) return link
  const added = new URLSearchParams()
  for (const name of names) if (utm[name] !== '') added.set(`utm_${name}`, utm[name])
  if (added.size === 0) return link
  // The parameters are appended as text, so that nothing else in the link changes.
  const separator = !address.includes('?') ? '?' : /[?&]$/.test(address) ? '' : '&'
  return [`${address}${separator}${added.toString()}`, ...fragment].join('#')
}
