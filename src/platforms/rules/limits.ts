import type { LiveCapabilities, Platform } from '../platform.ts'
import { RULE_IDS, type Confidence, type CountingMethod, type RuleId } from './rule.ts'

/** Where a limit comes from. */
export interface LimitSource {
  /** `rule`: the platform's folder. `operator`: this server's file. `live`: the platform's reply for the account. */
  readonly origin: 'rule' | 'operator' | 'live'
  readonly title: string
  /** Year and month in which the source was read; null for the operator's file and live replies. */
  readonly seen: string | null
  readonly confidence: Confidence | null
}

/** A rule as it applies to an account. */
export interface Limit {
  readonly id: RuleId
  readonly value: number | readonly string[]
  readonly counting: CountingMethod | undefined
  readonly source: LimitSource
  /** See `Rule.effect`. */
  readonly effect: string | undefined
  readonly note: string | undefined
}

/** Everything that limits what an account can publish. */
export interface Limits {
  readonly byId: ReadonlyMap<RuleId, Limit>
  /** Why the account cannot do something, by capability. */
  readonly blocked: Readonly<Record<string, string>>
}

/** The values of one platform in the operator's file, by rule id. */
export type PlatformOverrides = ReadonlyMap<RuleId, number | readonly string[]>

const OPERATOR: LimitSource = { origin: 'operator', title: 'your administrator', seen: null, confidence: null }
const LIVE: LimitSource = { origin: 'live', title: 'the account, live', seen: null, confidence: null }
const NO_OVERRIDES: PlatformOverrides = new Map()

/**
 * The limits that apply: the platform's rules, then the operator's file, then the platform's reply for the account. The
 * later one wins.
 */
export function effectiveLimits(
  { rules }: Pick<Platform, 'rules'>,
  overrides: PlatformOverrides = NO_OVERRIDES,
  live?: Pick<LiveCapabilities, 'limits' | 'blocked'>,
): Limits {
  const byId = new Map<RuleId, Limit>()
  for (const { confidence, counting, effect, id, note, seen, source: title, value } of rules) {
    byId.set(id, { id, value, counting, effect, note, source: { origin: 'rule', title, seen, confidence } })
  }
  for (const [id, value] of overrides) byId.set(id, replaced(byId.get(id), id, value, OPERATOR))
  for (const [id, value] of Object.entries(live?.limits ?? {})) {
    if (isRuleId(id)) byId.set(id, replaced(byId.get(id), id, value, LIVE))
  }
  return { byId, blocked: live?.blocked ?? {} }
}

/** Whether the engine knows a rule of this name. */
export function isRuleId(id: string): id is RuleId {
  return Object.hasOwn(RULE_IDS, id)
}

/** The value of a numeric rule; undefined when the platform has none. */
export function numberOf({ byId }: Limits, id: RuleId): number | undefined {
  const value = byId.get(id)?.value
  return typeof value === 'number' ? value : undefined
}

/** The values of a rule that lists some; undefined when the platform has none. */
export function listOf({ byId }: Limits, id: RuleId): readonly string[] | undefined {
  const value = byId.get(id)?.value
  return typeof value === 'object' ? value : undefined
}

function replaced(known: Limit | undefined, id: RuleId, value: Limit['value'], source: LimitSource): Limit {
  return { id, value, source, counting: known?.counting, effect: known?.effect, note: undefined }
}
