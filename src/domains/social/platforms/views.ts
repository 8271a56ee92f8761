import type { TObject } from 'typebox'
import type { ConfiguredPlatform } from '../../../platforms/directory.ts'
import type { Limit, Limits } from '../../../platforms/rules/limits.ts'
import { optionsSchemaOf } from '../../../platforms/options-schema.ts'
import { COUNTING, RULE_IDS } from '../../../platforms/rules/rule.ts'
import type { AccountNow } from '../accounts/index.ts'
import type { AccountNowData, PlatformDetailsData, PlatformSummaryData } from './schemas.ts'

export function summaryOf({ configured, platform, settings }: ConfiguredPlatform): PlatformSummaryData {
  const { credentials, key, oauth, registration, title } = platform
  const name = key.toUpperCase()
  return {
    platform: key,
    name: title,
    configured,
    setup: configured
      ? null
      : `Register an app at ${registration?.url} and set ${name}_CLIENT_ID and ${name}_CLIENT_SECRET.`,
    sandboxUrl: settings.sandboxUrl ?? null,
    connect: [...(oauth ? (['sign_in'] as const) : []), ...(credentials ? (['credentials'] as const) : [])],
  }
}

/** Everything of a platform that does not depend on an account. */
export function detailsOf(entry: ConfiguredPlatform, rules: Limits['byId']): Omit<PlatformDetailsData, 'account'> {
  const { credentials, oauth, prices = [] } = entry.platform
  const purposes = oauth?.scopePurposes ?? {}
  const fields = credentials?.fields as TObject | undefined
  return {
    ...summaryOf(entry),
    credentials:
      credentials === undefined
        ? null
        : {
            help: credentials.help,
            fields: Object.entries(fields?.properties ?? {}).map(([name, schema]) => ({
              name,
              description: (schema as { description?: string }).description ?? '',
              required: fields?.required?.includes(name) === true,
            })),
          },
    scopes: (oauth?.scopes ?? []).map((scope) => ({ scope, purpose: purposes[scope] ?? 'read the profile' })),
    rules: [...rules.values()].map(ruleView),
    options: optionsSchemaOf(entry.platform),
    callPrices: [...prices],
  }
}

/** What an account can do now. */
export function accountView({ accountId, budgets, error, limits, live, liveAt, status }: AccountNow): AccountNowData {
  const reported = Object.entries(budgets).map(([name, { counts: _counts, ...budget }]) => ({ name, ...budget }))
  const counted = (['posts.perDay', 'posts.perHour', 'replies.perDay'] as const).flatMap((id) => {
    const value = limits.byId.get(id)?.value
    // The number of posts published elsewhere is unknown, so the remaining budget is, too.
    const unknown = { remaining: null, resetsAt: null, reportedAt: null }
    return typeof value === 'number' && budgets[id] === undefined ? [{ name: id, limit: value, ...unknown }] : []
  })
  return {
    accountId,
    status,
    canPublish: limits.blocked['publish'] === undefined,
    unavailable: Object.entries(limits.blocked).map(([capability, reason]) => ({ capability, reason })),
    choices: Object.entries(live?.choices ?? {}).map(([option, values]) => ({ option, values: [...values] })),
    // What was learned from a refused file is not a reply of the platform.
    details: live === null || liveAt === null ? null : { ...live.details },
    checkedAt: liveAt,
    error,
    budgets: [...reported, ...counted],
  }
}

function ruleView({ counting, id, note, source, value }: Limit) {
  return {
    rule: id,
    value: typeof value === 'number' ? value : [...value],
    unit: RULE_IDS[id],
    counting: counting === undefined ? null : COUNTING[counting],
    origin: source.origin,
    source: source.title,
    seen: source.seen,
    confidence: source.confidence,
    note: note ?? null,
  }
}
