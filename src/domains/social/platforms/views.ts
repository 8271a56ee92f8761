import type { TObject } from 'typebox'
import type { ConfiguredPlatform } from '../../../platforms/directory.ts'
import { COUNTING, RULE_IDS, type Rule } from '../../../platforms/rules/rule.ts'
import type { PlatformDetailsData, PlatformSummaryData } from './schemas.ts'

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

export function detailsOf(entry: ConfiguredPlatform): PlatformDetailsData {
  const { credentials, oauth, rules } = entry.platform
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
    rules: rules.map(ruleView),
  }
}

function ruleView({ confidence, counting, id, note, seen, source, value }: Rule) {
  return {
    rule: id,
    value: typeof value === 'number' ? value : [...value],
    unit: RULE_IDS[id],
    counting: counting === undefined ? null : COUNTING[counting],
    source,
    seen,
    confidence,
    note: note ?? null,
  }
}
